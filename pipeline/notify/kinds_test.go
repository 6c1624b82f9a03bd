package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/alertmanager"
	"github.com/quintet-dc/quintet/pipeline/notify/cloudevents"
	receiver "github.com/quintet-dc/quintet/pipeline/notify/kind"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/pagerduty"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/slack"
	"github.com/quintet-dc/quintet/pipeline/notify/teams"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// kind is one kind of receiver, and how its far end identifies messages.
type kind struct {
	open func(t *testing.T, url string) (notify.Notifier, error)
	id   func(r *http.Request, body []byte) string
}

// within200 is long enough for a local server and short enough for one that hangs.
func within200() post.Config { return post.Config{Timeout: 200 * time.Millisecond} }

// find returns a text within JSON, along keys and indices; -1 is the last.
func find(body []byte, path ...any) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				return ""
			}
			v = m[p]
		case int:
			l, ok := v.([]any)
			if !ok || len(l) == 0 {
				return ""
			}
			v = l[(p+len(l))%len(l)]
		}
	}
	s, _ := v.(string)
	return s
}

func kinds() map[string]kind {
	return map[string]kind{
		"webhook": {
			func(_ *testing.T, url string) (notify.Notifier, error) {
				return webhook.New(webhook.Config{URL: url, Post: within200()})
			},
			func(r *http.Request, _ []byte) string { return r.Header.Get("webhook-id") }},
		"slack": {
			func(t *testing.T, url string) (notify.Notifier, error) {
				return slack.New(receiver.Channel{URLFile: notifytest.Secret(t, url), Post: within200()})
			},
			func(_ *http.Request, b []byte) string {
				return find(b, "attachments", 0, "blocks", -1, "elements", 0, "text")
			}},
		"teams": {
			func(t *testing.T, url string) (notify.Notifier, error) {
				return teams.New(receiver.Channel{URLFile: notifytest.Secret(t, url), Post: within200()})
			},
			func(_ *http.Request, b []byte) string {
				return find(b, "attachments", 0, "content", "body", -1, "text")
			}},
		"pagerduty": {
			func(t *testing.T, url string) (notify.Notifier, error) {
				return pagerduty.New(pagerduty.Config{URL: url, KeyFile: notifytest.Secret(t, "key"), Post: within200()})
			},
			func(_ *http.Request, b []byte) string { return find(b, "payload", "custom_details", "event") }},
		"cloudevents": {
			func(_ *testing.T, url string) (notify.Notifier, error) {
				return cloudevents.New(cloudevents.Config{URL: url, Post: within200()})
			},
			func(_ *http.Request, b []byte) string { return find(b, "id") }},
		"cloudevents in binary": {
			func(_ *testing.T, url string) (notify.Notifier, error) {
				return cloudevents.New(cloudevents.Config{URL: url, Mode: cloudevents.Binary, Post: within200()})
			},
			func(r *http.Request, _ []byte) string { return r.Header.Get("ce-id") }},
		"alertmanager": {
			func(_ *testing.T, url string) (notify.Notifier, error) {
				now := time.Now() // an alert's end moves with the clock: here it stands
				return alertmanager.New(alertmanager.Config{URLs: []string{url}, Resend: time.Hour, Post: post.Config{Timeout: 200 * time.Millisecond, Now: func() time.Time { return now }}})
			},
			func(_ *http.Request, b []byte) string {
				return find(b, -1, "labels", "incident") + "." + find(b, -1, "annotations", "revision") + ".far"
			}},
	}
}

// far is an HTTP server that answers in every way, over and over, and compares the
// messages with the bucket.
type far struct {
	*httptest.Server
	memory *memory
	kind   kind
	leave  chan struct{}

	mu     sync.Mutex
	n      int
	taken  map[string]bool
	bodies map[string]string
	order  map[string]int // the newest revision of each incident that was heard
	wrong  []string
}

func (f *far) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	id := f.kind.id(r, body)
	f.mu.Lock()
	way := f.n % 9
	f.n++
	f.hear(id, string(body))
	if way%2 == 0 && way < 8 {
		f.taken[id] = true
	}
	f.mu.Unlock()
	switch way {
	case 1:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	case 3:
		select {
		case <-r.Context().Done():
		case <-f.leave:
		}
	case 5:
		w.WriteHeader(http.StatusInternalServerError)
	case 7:
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = c.Close()
		}
	case 8:
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// hear checks a message. The caller holds mu.
func (f *far) hear(id, body string) {
	parts := strings.Split(id, ".")
	var number int
	if len(parts) != 3 || parts[2] != "far" {
		f.wrong = append(f.wrong, "an id "+id)
		return
	}
	if _, err := fmt.Sscan(parts[1], &number); err != nil {
		f.wrong = append(f.wrong, "an id "+id)
	}
	if before, known := f.bodies[id]; known && before != body {
		f.wrong = append(f.wrong, "two bodies under "+id)
	}
	if number < f.order[parts[0]] {
		f.wrong = append(f.wrong, fmt.Sprintf("%s after %d", id, f.order[parts[0]]))
	}
	f.bodies[id], f.order[parts[0]] = body, number
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	var d notify.Delivery
	if json.Unmarshal(f.memory.values["delivery."+parts[0]+".far"].value, &d) != nil {
		f.wrong = append(f.wrong, id+" was not claimed")
	}
	for _, c := range d.Log {
		if c.Revision == number && c.Outcome == notify.OutcomeDelivered {
			f.wrong = append(f.wrong, id+" comes again after it was marked")
		}
	}
}

// TestEveryKindAcrossKills has two processes that are killed at random moments and
// receivers of every kind that answer in every way: no required message is lost,
// none has two ids or bodies, none is sent again once its answer is recorded.
func TestEveryKindAcrossKills(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			f := &far{memory: m, kind: k, leave: make(chan struct{}), taken: map[string]bool{}, bodies: map[string]string{}, order: map[string]int{}}
			f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
			defer f.Close()
			defer close(f.leave)
			acrossKills(t, m, f, k)
		})
	}
}

func acrossKills(t *testing.T, m *memory, f *far, k kind) {
	n, err := k.open(t, f.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var kills atomic.Int64
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n) == 0
	}
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				inner, stop := context.WithCancel(ctx)
				p := &process{memory: m, dead: make(chan struct{}), cancel: stop, doomed: func(moment) bool { return kills.Load() < 12 && draw(12) }, kills: &kills}
				c := notify.Config{Bus: p, Incidents: p, Name: "test", Grace: -1, Margin: 100 * time.Millisecond, Retries: []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond},
					Receivers: []notify.Receiver{{Name: "far", Notifier: guarded{n, p}, Timeout: 300 * time.Millisecond}}}
				if err := notify.Run(inner, c); err != nil {
					t.Error(err)
				}
				stop()
			}
		})
	}
	defer running.Wait()
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(m.keys("receiver.")) == 0 { // whoever is served first begins with an empty stream
		<-tick.C
	}
	ins := []*trouble{{id: "inc-a", root: "nic:h1/n0", jobs: []string{"job:a"}}, {id: "inc-b", root: "gpu:h1/3"}, {id: "inc-c", root: "switch:s1"}}
	for i := range 36 {
		ins[i%3].say(t, m, []string{opened, opened, resolved}[i/3%3])
	}
	last := map[string]bool{"inc-a.12.far": true, "inc-b.12.far": true, "inc-c.12.far": true}
	for done := false; !done; {
		select {
		case <-ctx.Done():
			t.Fatalf("not all was taken after %d requests and %d kills: %v", f.n, kills.Load(), f.taken)
		case <-tick.C:
		}
		f.mu.Lock()
		done = true
		for id := range last {
			done = done && f.taken[id]
		}
		f.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.wrong {
		t.Error(w)
	}
	for _, in := range ins {
		for r := 3; r <= 12; r += 3 {
			if id := fmt.Sprintf("%s.%d.far", in.id, r); !f.taken[id] {
				t.Errorf("%s resolves and was never taken", id)
			}
		}
	}
	if kills.Load() == 0 {
		t.Error("nothing was killed")
	}
}

// guarded is a notifier as a process reaches it: not at all once it is dead.
type guarded struct {
	notify.Notifier
	p *process
}

func (g guarded) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	if g.p.isDead() {
		return notify.Answer{Verdict: notify.NoAnswer}
	}
	a := g.Notifier.Notify(ctx, m)
	if g.p.dies(whileSending) {
		return notify.Answer{Verdict: notify.NoAnswer}
	}
	return a
}
