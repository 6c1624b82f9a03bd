package replica

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestLiveIncidentsAreThoseOfAReplay(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	r.publishes()
	w.feed(0, len(w.rec.log))
	w.same()
	r.read()
	r.stop()
	if n := r.count(`quintet_replica_revisions_total{outcome="stored"}`); n != len(w.rec.want) {
		t.Errorf("%d revisions stored, want %d", n, len(w.rec.want))
	}
	claims := 0
	err := w.bus.Slice(within(t, 10*time.Second), bus.Span{Kinds: []telemetry.RecordKind{telemetry.ConfigRecord}}, func(e bus.Entry) error {
		if e.Record != nil && e.Record.Config.Key == telemetry.ConfigEngine {
			claims++
		}
		return nil
	})
	if err != nil || claims < 2 {
		t.Errorf("%d claims in seven minutes, want one and a renewal: %v", claims, err)
	}
	if infos, err := w.bus.Snapshots(t.Context()); err != nil || len(infos) < 2 {
		t.Errorf("%d snapshots of seven minutes: %v", len(infos), err)
	}
}

// TestALogThatWasThereBeforeTheFirstReplica is published as a whole: nothing in it
// was published before.
func TestALogThatWasThereBeforeTheFirstReplica(t *testing.T) {
	w := newWorld(t)
	w.feed(0, len(w.rec.log))
	w.start("a").publishes()
	w.same()
}

// TestAKilledReplicaLeavesTheSameStream kills it at random places, while the log
// grows and while it does not.
func TestAKilledReplicaLeavesTheSameStream(t *testing.T) {
	w := newWorld(t)
	rnd := rand.New(rand.NewPCG(7, 7))
	at, kills := 0, 0
	for at < len(w.rec.log) {
		r := w.start("a")
		for range rnd.IntN(4) {
			n := min(len(w.rec.log), at+rnd.IntN(600))
			w.feed(at, n)
			at = n
		}
		switch rnd.IntN(3) {
		case 0:
			r.read()
		case 1:
			r.publishes()
		}
		r.stop()
		kills++
	}
	if kills < 10 {
		t.Fatalf("killed %d times", kills)
	}
	r := w.start("a")
	w.same()
	r.read()
	r.stop()
	t.Logf("killed %d times", kills)
}

func TestTwoReplicasPublishOnce(t *testing.T) {
	w := newWorld(t)
	a, b := w.start("a"), w.start("b")
	w.feed(0, 3000)
	a.publishes()
	b.publishes()
	w.feed(3000, len(w.rec.log))
	w.same()
	a.read()
	b.read()
	for _, r := range []*running{a, b} {
		if n := r.count("quintet_replica_starts_total"); n != 1 {
			t.Errorf("%s began %d times", r.name, n)
		}
	}
	var pa, pb Presence
	w.until("both tell of the same state", func() bool {
		pa, _ = a.presence()
		pb, _ = b.presence()
		return pa.Digest != "" && pa.DigestTick == pb.DigestTick && pa.Claim == pb.Claim
	})
	if pa.Digest != pb.Digest || pa.Diverged || pb.Diverged {
		t.Errorf("digests %s and %s, diverged %v and %v", pa.Digest, pb.Digest, pa.Diverged, pb.Diverged)
	}
	a.stop()
	b.stop()
	const stored, same = `quintet_replica_revisions_total{outcome="stored"}`, `quintet_replica_revisions_total{outcome="same"}`
	if n := a.count(stored) + b.count(stored); n != len(w.rec.want) {
		t.Errorf("%d stored by both, want %d", n, len(w.rec.want))
	}
	if n := a.count(same) + b.count(same); n != len(w.rec.want) {
		t.Errorf("%d found there by the other, want %d", n, len(w.rec.want))
	}
}

// TestAServerThatComesAndGoesLeavesTheSameStream: replicas stay, the server is
// restarted under them.
func TestAServerThatComesAndGoesLeavesTheSameStream(t *testing.T) {
	w := newWorld(t)
	a, b := w.start("a"), w.start("b")
	a.publishes()
	b.publishes()
	at := 0
	for _, n := range []int{3300, hurt, len(w.rec.log)} {
		w.feed(at, n)
		at = n
		w.server.Close()
		w.serve()
	}
	w.same()
	a.read()
	b.read()
	for _, r := range []*running{a, b} {
		if r.gauge("quintet_replica_publishing") != 1 || r.count("quintet_replica_starts_total") != 1 {
			t.Errorf("%s: publishing %v, started %d times", r.name, r.gauge("quintet_replica_publishing"), r.count("quintet_replica_starts_total"))
		}
	}
}
