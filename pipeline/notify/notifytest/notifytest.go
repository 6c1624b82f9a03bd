package notifytest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
)

// Way is how the far end responds to messages.
type Way uint8

// The ways.
const (
	Accepts   Way = iota + 1 // takes it
	Refuses                  // refuses
	Throttles                // refusest now, but after Wish
	Hangs                    // receives it and never answers
	BreaksOff                // receives it and closes the connection without an answer
	Leaves                   // unsubscribes for good
	Absent                   // is not there: nothing reaches it
	Redirects                // redirects to another address
)

// Wish is for how long a far end that throttles asks to be left alone.
const Wish = 7 * time.Second

var wayNames = [...]string{"", "accepts", "refuses", "throttles", "hangs", "breaks off", "leaves", "absent", "redirects"}

// String returns the way's name.
func (w Way) String() string {
	if int(w) >= len(wayNames) {
		return fmt.Sprintf("way %d", w)
	}
	return wayNames[w]
}

// Received is a message as the far end received it.
type Received struct {
	ID   string
	Body []byte // everything that an attempt must repeat
}

// Far is a notifier and the far end that it sends to.
type Far struct {
	Notifier notify.Notifier
	// Behave sets how the far end responds, and reports false if this kind of
	// receiver does not have that way.
	Behave func(w Way) bool
	// Received lists the received messages, in order.
	Received func() []Received
	// Anonymous is set if this kind of receiver is sent no id: its messages are
	// identified by their content.
	Anonymous bool
}

// waitTimeout bounds the waits of a test.
const waitTimeout = 20 * time.Second

// wanted is the required outcome of each way.
var wanted = [...]struct {
	way      Way
	verdict  notify.Verdict
	received bool
	after    time.Duration
}{
	{Accepts, notify.Taken, true, 0},
	{Refuses, notify.Refused, true, 0},
	{Throttles, notify.Refused, true, Wish},
	{Hangs, notify.NoAnswer, true, 0},
	{BreaksOff, notify.NoAnswer, true, 0},
	{Leaves, notify.Gone, true, 0},
	{Absent, notify.Refused, false, 0},
	{Redirects, notify.Refused, true, 0},
}

// Test runs everything over a fresh far end each.
func Test(t *testing.T, open func(t *testing.T) Far) {
	for _, w := range wanted {
		t.Run(w.way.String(), func(t *testing.T) {
			far := open(t)
			if !far.Behave(w.way) {
				t.Skip("this kind of receiver does not do that")
			}
			limit := waitTimeout
			if w.way == Hangs {
				limit = 200 * time.Millisecond
			}
			a := once(t, far, limit, message("inc-1.1.far", 1))
			if a.Verdict != w.verdict || a.After != w.after {
				t.Errorf("%+v: want %v, and to wait %v", a, w.verdict, w.after)
			}
			if (a.Reason == "") != (a.Verdict == notify.Taken) || strings.ContainsAny(a.Reason, "\r\n") {
				t.Errorf("reason %q of %v: want one line where it was not taken", a.Reason, a.Verdict)
			}
			if got := len(far.Received()); (got == 1) != w.received {
				t.Errorf("the receiver got %d messages", got)
			}
		})
	}
	t.Run("every attempt sends the same", func(t *testing.T) { testSame(t, open(t)) })
	t.Run("the message is left as it is", func(t *testing.T) { testUntouched(t, open(t)) })
	t.Run("side by side", func(t *testing.T) { testConcurrent(t, open(t)) })
	t.Run("it ends with its context", func(t *testing.T) { testEnds(t, open(t)) })
	t.Run("fingerprint", func(t *testing.T) {
		a, b := open(t), open(t)
		before := a.Notifier.Fingerprint()
		once(t, a, waitTimeout, message("inc-1.1.far", 1))
		if after := a.Notifier.Fingerprint(); before == "" || after != before {
			t.Errorf("fingerprint %q, then %q: want one that stays", before, after)
		}
		if a.Notifier.Fingerprint() == b.Notifier.Fingerprint() {
			t.Error("two far ends have one fingerprint")
		}
	})
}

// message is one with a body that no encoder leaves as it is by chance.
func message(id string, attempt int) *notify.Message {
	return &notify.Message{ID: id, Type: notify.TypeOpened, Attempt: attempt,
		Body: []byte(`{"type":"incident.opened","timestamp":"2026-11-21T02:47:00Z","data":{"id":"inc-1","title":"<b> & \u2028 ü  \"","n":1.0e0}}`)}
}

// once notifies and fails the test where that does not end soon after the limit.
func once(t *testing.T, far Far, limit time.Duration, m *notify.Message) notify.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	done := make(chan notify.Answer, 1)
	go func() { done <- far.Notifier.Notify(ctx, m) }()
	select {
	case a := <-done:
		return a
	case <-time.After(limit + waitTimeout):
		t.Fatal("it does not end with its context")
		return notify.Answer{}
	}
}

func testSame(t *testing.T, far Far) {
	far.Behave(Refuses)
	once(t, far, waitTimeout, message("inc-1.3.far", 1))
	far.Behave(Accepts)
	once(t, far, waitTimeout, message("inc-1.3.far", 2))
	once(t, far, waitTimeout, message("inc-1.4.far", 1))
	h := far.Received()
	if len(h) != 3 {
		t.Fatalf("%d messages received, want 3", len(h))
	}
	if h[0].ID != h[1].ID || !bytes.Equal(h[0].Body, h[1].Body) {
		t.Errorf("two attempts at one message differ:\n%s %q\n%s %q", h[0].ID, h[0].Body, h[1].ID, h[1].Body)
	}
	if h[2].ID == h[1].ID && !far.Anonymous {
		t.Errorf("two messages have one id: %s", h[2].ID)
	}
}

func testUntouched(t *testing.T, far Far) {
	far.Behave(Accepts)
	m, same := message("inc-1.1.far", 1), message("inc-1.1.far", 1)
	once(t, far, waitTimeout, m)
	if m.ID != same.ID || m.Type != same.Type || m.Attempt != same.Attempt || !bytes.Equal(m.Body, same.Body) {
		t.Errorf("the message is another one now: %+v", m)
	}
}

func testConcurrent(t *testing.T, far Far) {
	far.Behave(Accepts)
	const n = 16
	var all sync.WaitGroup
	answers := make([]notify.Answer, n)
	for i := range n {
		all.Go(func() { answers[i] = far.Notifier.Notify(t.Context(), message(fmt.Sprintf("inc-%d.1.far", i), 1)) })
	}
	all.Wait()
	ids := map[string]bool{}
	for _, h := range far.Received() {
		ids[h.ID] = true
	}
	for i, a := range answers {
		if a.Verdict != notify.Taken {
			t.Errorf("message %d: %+v", i, a)
		}
	}
	if len(ids) != n && !(far.Anonymous && len(far.Received()) == n) {
		t.Errorf("%d ids received, want %d", len(ids), n)
	}
}

func testEnds(t *testing.T, far Far) {
	far.Behave(Accepts)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan notify.Answer, 1)
	go func() { done <- far.Notifier.Notify(ctx, message("inc-1.1.far", 1)) }()
	select {
	case a := <-done:
		if a.Verdict == notify.Taken && len(far.Received()) == 0 {
			t.Error("accepted, and nothing was received")
		}
	case <-time.After(waitTimeout):
		t.Error("it goes on although its context is done")
	}
}
