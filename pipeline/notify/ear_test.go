package notify_test

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
)

// hearing is one message as a receiver received it.
type hearing struct {
	id       string
	incident string
	number   int
	kind     string
	body     string
	at       time.Time
	answer   notify.Answer
}

// ear is a receiver that records its messages and answers as configured. It is the
// far end and, for one process, its notifier.
type ear struct {
	name  string
	mu    sync.Mutex
	heard []hearing
	busy  map[string]int // incidents being told right now
	wrong []string       // what must never be
	// answer returns the outcome of a message; it may wait for ctx.
	answer func(ctx context.Context, n int, h hearing) notify.Answer
	print  string
}

func newEar(name string) *ear {
	e := &ear{name: name, busy: map[string]int{}, print: "address of " + name}
	e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
	return e
}

func (e *ear) always(a notify.Answer) {
	e.reply(func(context.Context, int, hearing) notify.Answer { return a })
}

func (e *ear) reply(f func(ctx context.Context, n int, h hearing) notify.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = f
}

func (e *ear) Fingerprint() string { return e.print }

func (e *ear) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	parts := strings.Split(m.ID, ".")
	number, err := strconv.Atoi(parts[1])
	e.mu.Lock()
	h := hearing{id: m.ID, incident: parts[0], number: number, kind: m.Type, body: string(m.Body), at: time.Now()}
	if err != nil || len(parts) != 3 || parts[2] != e.name {
		e.wrong = append(e.wrong, "an id "+m.ID)
	}
	if e.busy[h.incident]++; e.busy[h.incident] > 1 {
		e.wrong = append(e.wrong, "two at once: "+m.ID)
	}
	n := len(e.heard)
	e.heard = append(e.heard, h)
	answer := e.answer
	e.mu.Unlock()
	a := answer(ctx, n, h)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy[h.incident]--
	e.heard[n].answer = a
	return a
}

func (e *ear) all() []hearing {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heard)
}

// ids lists what was taken, in order.
func (e *ear) ids() (out []string) {
	for _, h := range e.all() {
		if h.answer.Verdict == notify.Taken {
			out = append(out, h.incident+"."+strconv.Itoa(h.number))
		}
	}
	return out
}

// check reports what is wrong with the received messages, whatever the answers
// were, and returns how many repeats were unnecessary: of messages that were
// accepted, or whose answer is unknown.
func (e *ear) check(t *testing.T) (repeats int) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.wrong {
		t.Errorf("%s: %s", e.name, w)
	}
	bodies, before, newest := map[string]string{}, map[string]notify.Verdict{}, map[string]int{}
	for _, h := range e.heard {
		if b, known := bodies[h.id]; known && b != h.body {
			t.Errorf("%s: two bodies under %s:\n%s\n%s", e.name, h.id, b, h.body)
		}
		if v := before[h.id]; v == notify.Taken || v == notify.NoAnswer {
			repeats++
		}
		if h.number < newest[h.incident] {
			t.Errorf("%s: %s after %d", e.name, h.id, newest[h.incident])
		}
		bodies[h.id], before[h.id], newest[h.incident] = h.body, h.answer.Verdict, max(newest[h.incident], h.number)
	}
	return repeats
}

// missing returns the messages that the receiver should have accepted and has not:
// the newest revision of each incident and every one that resolves.
func (e *ear) missing(m *memory) (out []string) {
	taken := map[string]bool{}
	for _, id := range e.ids() {
		taken[id] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	newest := map[string]int{}
	for _, r := range m.stream {
		newest[r.ID] = max(newest[r.ID], r.Number)
	}
	for _, r := range m.stream {
		id := r.ID + "." + strconv.Itoa(r.Number)
		if (r.Number == newest[r.ID] || bytes.Contains(r.Data, []byte(`"state":"resolved"`))) && !taken[id] {
			out = append(out, id)
		}
	}
	return out
}

// site is a bus whose stream is that of its incidents.
type site interface {
	notify.Bus
	notify.Stream
}

// config has one receiver for each ear.
func config(m site, ears ...*ear) notify.Config {
	c := notify.Config{Bus: m, Incidents: m, Name: "test"}
	for _, e := range ears {
		c.Receivers = append(c.Receivers, notify.Receiver{Name: e.name, Notifier: e})
	}
	return c
}

// start runs a notifier until the returned function is called, or the test ends.
func start(t *testing.T, c notify.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- notify.Run(ctx, c) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// told waits until the accepted messages are as wanted.
func told(t *testing.T, e *ear, want ...string) {
	t.Helper()
	await(t, func() bool { return len(e.ids()) >= len(want) })
	if got := e.ids(); !slices.Equal(got, want) {
		t.Errorf("%s took %v, want %v", e.name, got, want)
	}
}

// await waits in a bubble's time until something holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for range 100_000 {
		if holds() {
			return
		}
		<-time.After(10 * time.Second)
	}
	t.Fatal("it never comes about")
}
