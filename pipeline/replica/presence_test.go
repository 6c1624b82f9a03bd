package replica

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// forgetful lists no keys: those of a bucket that all write while it is listed.
type forgetful struct{ jetstream.KeyValue }

// nothing is such a list.
type nothing struct{}

func (nothing) Keys() <-chan string {
	c := make(chan string)
	close(c)
	return c
}

func (nothing) Stop() error { return nil }

func (forgetful) ListKeys(context.Context, ...jetstream.WatchOpt) (jetstream.KeyLister, error) {
	return nothing{}, nil
}

// TestWhoWritesWhileItIsListedIsThere: a replica that is missing from a list
// because it writes at that moment does not count as gone; one that took its leave
// does.
func TestWhoWritesWhileItIsListedIsThere(t *testing.T) {
	w := newWorld(t)
	kv, err := w.bus.KeyValue(t.Context(), bus.Replicas)
	if err != nil {
		t.Fatal(err)
	}
	me, other := &herald{keys: kv, key: "me"}, &herald{keys: kv, key: "other"}
	me.cfg.Beat, other.cfg.Beat = DefaultBeat, DefaultBeat
	sees := func(what string, want int) {
		t.Helper()
		who, err := me.call(t.Context(), Presence{Name: "me"})
		if err != nil || len(who.others) != want {
			t.Errorf("%s: %+v, %v: want %d", what, who.others, err, want)
		}
	}
	sees("alone", 0)
	if _, err := other.call(t.Context(), Presence{Name: "other", Publishing: true}); err != nil {
		t.Fatal(err)
	}
	sees("with another", 1)
	me.keys = forgetful{kv}
	sees("with one that is not on the list", 1)
	if err := kv.Purge(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	sees("after its leave", 0)
}
