package bus_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// followNotes returns a running Follower and what it receives: "key=value", "-key"
// for a deletion, and "read" after the last of the initial entries.
func followNotes(t *testing.T, b *bus.Bus) (*bus.Follower, <-chan string) {
	t.Helper()
	f := bus.NewFollower(b, bus.Notes, slog.New(slog.DiscardHandler))
	heard := make(chan string, 100)
	go f.Run(t.Context(), func() { heard <- "read" }, func(e jetstream.KeyValueEntry) {
		if e.Operation() == jetstream.KeyValuePut {
			heard <- e.Key() + "=" + string(e.Value())
		} else {
			heard <- "-" + e.Key()
		}
	})
	return f, heard
}

// hears fails t unless each of want is received, in that order. Values in between
// may be missed: a bucket keeps only an entry's last value.
func hears(t *testing.T, heard <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		for got := ""; got != w; {
			select {
			case got = <-heard:
			case <-time.After(20 * time.Second):
				t.Fatalf("waited in vain for %q", w)
			}
		}
	}
}

// adds returns a change that appends a word to the value.
func adds(word string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		return []byte(strings.TrimSpace(string(old) + " " + word)), nil
	}
}

// TestFollowers checks that followers receive the initial entries and the changes,
// and lose nothing when two of them write at the same time.
func TestFollowers(t *testing.T) {
	t.Parallel()
	s, _ := site(t)
	ctx := within(t, 40*time.Second)
	b := join(t, s, broker.Web)
	if f := bus.NewFollower(b, bus.Notes, slog.New(slog.DiscardHandler)); f.Change(ctx, "inc-1", adds("early")) == nil {
		t.Error("a change of a bucket that nobody has opened")
	}
	one, first := followNotes(t, b)
	hears(t, first, "read")
	if err := one.Change(ctx, "inc-1", adds("seen")); err != nil {
		t.Fatal(err)
	}
	hears(t, first, "inc-1=seen")
	other, second := followNotes(t, b)
	hears(t, second, "inc-1=seen", "read")
	bothHear := func(want string) {
		t.Helper()
		hears(t, first, want)
		hears(t, second, want)
	}

	asked := 0
	err := one.Change(ctx, "inc-1", func(old []byte) ([]byte, error) {
		if asked++; asked == 1 {
			if err := other.Change(ctx, "inc-1", adds("meanwhile")); err != nil {
				t.Error(err)
			}
		}
		return adds("right")(old)
	})
	if err != nil || asked != 2 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	bothHear("inc-1=seen meanwhile right")
	kept := errors.New("kept as it is")
	if err := one.Change(ctx, "inc-1", func([]byte) ([]byte, error) { return nil, kept }); !errors.Is(err, kept) {
		t.Error(err)
	}
	kv, err := one.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(ctx, "inc-1"); err != nil {
		t.Fatal(err)
	}
	bothHear("-inc-1")
	if err := other.Change(ctx, "inc-1", adds("anew")); err != nil {
		t.Fatal(err)
	}
	bothHear("inc-1=anew")
}

// TestAWriterFollowsItsOwnWrites: a change returns when the follower has delivered it.
func TestAWriterFollowsItsOwnWrites(t *testing.T) {
	t.Parallel()
	s, _ := site(t)
	ctx := within(t, 40*time.Second)
	f := bus.NewFollower(join(t, s, broker.Web), bus.Notes, slog.New(slog.DiscardHandler))
	var told atomic.Bool
	open, begun, gate := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go f.Run(t.Context(), func() { close(open) }, func(jetstream.KeyValueEntry) {
		close(begun)
		<-gate
		told.Store(true)
	})
	<-open
	heard := make(chan bool)
	go func() {
		if err := f.Change(ctx, "inc-1", adds("seen")); err != nil {
			t.Error(err)
		}
		heard <- told.Load()
	}()
	<-begun
	kv, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(ctx, "inc-1"); err != nil { // what the bucket answered to the change came before this
		t.Fatal(err)
	}
	close(gate)
	if !<-heard {
		t.Error("a change has returned that its writer has not heard of")
	}
}

// TestAnEntryThatNeverRests: a change that keeps losing to other writers returns an
// error.
func TestAnEntryThatNeverRests(t *testing.T) {
	t.Parallel()
	s, _ := site(t)
	ctx := within(t, 40*time.Second)
	f, heard := followNotes(t, join(t, s, broker.Web))
	hears(t, heard, "read")
	kv, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	err = f.Change(ctx, "inc-1", func(old []byte) ([]byte, error) {
		if _, err := kv.Put(ctx, "inc-1", append(old, '.')); err != nil {
			t.Error(err)
		}
		return old, nil
	})
	if err == nil || bus.Outrun(err) || !strings.Contains(err.Error(), "at the same time") {
		t.Error(err)
	}
}
