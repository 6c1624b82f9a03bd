package silence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/notify/silence"
	"github.com/quintet-dc/quintet/telemetry"
)

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// book opens the silences of a site in a role.
func book(t *testing.T, s *broker.Server, r broker.Role) *silence.Book {
	t.Helper()
	c, err := s.Connection(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(within(t, 10*time.Second), bus.Config{Site: "lab", Name: t.Name(), InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if r == broker.All {
		if err := b.Create(within(t, 20*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	out := silence.NewBook(b, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); out.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	for !out.Known() {
		select {
		case <-out.Changed():
		case <-time.After(20 * time.Second):
			t.Fatal("the silences are not read")
		}
	}
	return out
}

// TestOverTheRealBucket stores a silence from the page that the notifier receives,
// and that outlives the server.
func TestOverTheRealBucket(t *testing.T) {
	dir := t.TempDir()
	start := func() *broker.Server {
		s, err := broker.Start(within(t, 20*time.Second), broker.Config{Dir: dir, Site: "lab"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	server := start()
	book(t, server, broker.All)
	web, notifier := book(t, server, broker.Web), book(t, server, broker.Notify)
	now := telemetry.Time(time.Now().UnixNano())
	end := now.Add(time.Hour)
	made, err := web.Put(t.Context(), silence.Silence{Matchers: matcher(t, "within=node:h1"), End: &end, CreatedBy: "ann", Comment: "new PSU"}, now)
	if err != nil {
		t.Fatal(err)
	}
	facts := match.Of(&explain.Incident{Root: explain.Root{Entity: telemetry.Entity{Kind: telemetry.GPU, Name: "h1/3"}}})
	hears := func(b *silence.Book, want int) {
		t.Helper()
		late := time.After(20 * time.Second)
		for {
			changed := b.Changed()
			if len(b.Muting(facts, now.Add(time.Second))) == want {
				return
			}
			select {
			case <-changed:
			case <-late:
				t.Fatalf("it hears of %v", b.List())
			}
		}
	}
	hears(notifier, 1)
	if _, err := notifier.Put(within(t, 10*time.Second), made, now); err == nil {
		t.Error("whoever tells may silence")
	}
	server.Close()
	server = start()
	again := book(t, server, broker.Web)
	hears(again, 1)
	if _, err := again.Expire(t.Context(), made.ID, "ben", now); err != nil {
		t.Fatal(err)
	}
	hears(again, 0)
	if _, err := again.Expire(t.Context(), "sil-0000000000000000", "ben", now); !errors.Is(err, silence.ErrUnknown) {
		t.Error(err)
	}
	old, month := made, now.Add(31*24*time.Hour)
	old.ID = ""
	if _, err := again.Put(t.Context(), old, month); err == nil {
		t.Error("a silence that is over is kept")
	}
	next := month.Add(time.Hour)
	old.End, old.Start = &next, month
	if _, err := again.Put(t.Context(), old, month); err != nil {
		t.Fatal(err)
	}
	for len(again.List()) != 1 { // what has long expired is forgotten
		select {
		case <-again.Changed():
		case <-time.After(20 * time.Second):
			t.Fatalf("%+v", again.List())
		}
	}
}
