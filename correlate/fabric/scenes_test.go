package fabric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// scene is a fault with the counters that it produces, and where the job's waiting
// must be found to end.
type scene struct {
	name  string
	job   []telemetry.Entity
	write func(w *world)
	root  string
	share float64 // of the job's waiting that ends at the root, at least
	// victims have less of the blame than the root, however they wait.
	victims []string
	// story is the walk back from the root to the job, by Via.
	story []string
}

func scenes() []scene { return append(receivers(), links()...) }

// receivers are scenes whose root is a NIC.
func receivers() []scene {
	return []scene{
		{
			name: "slow receiver: the nic sends pause, its port is a victim",
			job:  nodes("h0", "h7"),
			write: func(w *world) {
				w.pauses("nic:h7/n0", 0.6)
				w.stands("port:leaf1/h7", 0.4)
				w.pauses("port:leaf1/s0", 0.5)
				w.stands("port:spine0/l1", 0.4)
				w.pauses("port:spine0/l0", 0.4)
				w.stands("port:leaf0/s0", 0.4)
				w.pauses("port:leaf0/h0", 0.3)
			},
			root: "nic:h7/n0", share: 0.3,
			victims: []string{"nic:h0/n0", "port:leaf0/h0", "port:leaf0/s0", "port:spine0/l1", "port:leaf1/h7"},
			story:   []string{"nic:h7/n0", "port:leaf1/h7", "port:spine0/l1", "port:leaf0/s0", "nic:h0/n0"},
		},
		{
			name: "storm: three hops deep to a nic outside the job",
			job:  nodes("h0", "h1", "h4"),
			write: func(w *world) {
				w.pauses("nic:h7/n0", 0.9)
				w.report("port:leaf1/h7", queue, half+1, grids, stands)
				w.pauses("port:leaf1/s1", 0.9)
				w.pauses("port:spine1/l0", 0.9)
				w.pauses("port:leaf0/h0", 0.9)
				w.pauses("port:leaf0/h1", 0.9)
			},
			root: "nic:h7/n0", share: 0.85,
			victims: []string{"nic:h0/n0", "nic:h1/n0", "port:leaf0/s1", "port:spine1/l1", "port:leaf1/h7"},
			story:   []string{"nic:h7/n0", "port:leaf1/h7", "port:spine1/l1", "port:leaf0/s1", "nic:h0/n0"},
		},
	}
}

// links are scenes whose root is a switch port.
func links() []scene {
	return []scene{
		{
			name: "incast: the leaf port to the receiver has a queue and receives no pause",
			job:  nodes("h0", "h7"),
			write: func(w *world) {
				w.stands("port:leaf1/h7", 1)
				w.pauses("port:leaf1/s0", 0.5)
				w.pauses("port:leaf1/h5", 0.7) // one of the senders, outside the job
				w.pauses("port:spine0/l0", 0.4)
				w.pauses("port:leaf0/h0", 0.3)
			},
			root: "port:leaf1/h7", share: 0.99,
			victims: []string{"nic:h0/n0", "nic:h7/n0", "nic:h5/n0", "port:leaf0/s0", "port:spine0/l1"},
			story:   []string{"port:leaf1/h7", "port:spine0/l1", "port:leaf0/s0", "nic:h0/n0"},
		},
		{
			name: "degraded uplink: it stands where it is slow",
			job:  nodes("h0", "h1", "h7"),
			write: func(w *world) {
				w.stands("port:leaf0/s0", 0.3)
				w.pauses("port:leaf0/h0", 0.6)
				w.pauses("port:leaf0/h1", 0.6)
			},
			root: "port:leaf0/s0", share: 0.99,
			victims: []string{"nic:h0/n0", "nic:h1/n0", "port:spine0/l0"},
			story:   []string{"port:leaf0/s0", "nic:h0/n0"},
		},
		{
			name: "trouble elsewhere does not reach the job",
			job:  nodes("h0", "h1"),
			write: func(w *world) {
				w.stands("port:leaf0/h1", 1)
				w.pauses("nic:h7/n0", 0.9)
				w.stands("port:leaf1/h7", 0.1)
				w.pauses("port:leaf1/h6", 0.9)
			},
			root: "port:leaf0/h1", share: 1,
			victims: []string{"nic:h7/n0", "port:leaf1/h7", "nic:h6/n0"},
			story:   []string{"port:leaf0/h1"},
		},
		{
			name: "a switch that says stop though nothing stands in it",
			job:  nodes("h0", "h7"),
			write: func(w *world) {
				w.pauses("port:spine1/l0", 0.5)
				w.pauses("port:leaf0/h0", 0.5)
			},
			root: "port:spine1/l0", share: 0.99,
			victims: []string{"nic:h0/n0", "port:leaf0/s1"},
			story:   []string{"port:spine1/l0", "port:leaf0/s1", "nic:h0/n0"},
		},
	}
}

func TestScenes(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			w := quiet(t, 2, 2, 8)
			s.write(w)
			m, then, during := w.read()
			b := fabric.Walk(during, then, s.job)
			root := index(t, m, s.root)
			if got := b.Share(root); got < s.share {
				t.Errorf("%s has %.2f of the blame, want %.2f at least", s.root, got, s.share)
			}
			for _, v := range s.victims {
				if i := index(t, m, v); b.At[i] >= b.At[root] {
					t.Errorf("%s has %.3f s/s, the root only %.3f", v, b.At[i], b.At[root])
				}
			}
			if b.Circling > 1e-9 {
				t.Errorf("%.3f s/s go in a circle", b.Circling)
			}
			s.follow(t, m, b)
		})
	}
}

// follow walks back by Via.
func (s *scene) follow(t *testing.T, m *fabric.Map, b *fabric.Blame) {
	t.Helper()
	i := index(t, m, s.root)
	for k, want := range s.story {
		if i < 0 {
			t.Fatalf("the walk back ends before %s", want)
		}
		if got := m.Ends[i].Entity.String(); got != want {
			t.Fatalf("link %d is %s, want %s", k, got, want)
		}
		i = b.Via[i]
	}
	if i >= 0 {
		t.Errorf("the walk back goes on to %v", m.Ends[i].Entity)
	}
}

// TestAPortThatReceivesPauseHasNoBlame: a port that receives pause all the time is a
// victim and nothing else, however large its queue.
func TestAPortThatReceivesPauseHasNoBlame(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	w.pauses("nic:h7/n0", 1)
	w.stands("port:leaf1/h7", 0)
	m, then, during := w.read()
	b := fabric.Walk(during, then, nodes("h7"))
	if i := index(t, m, "port:leaf1/h7"); b.At[i] != 0 || during.Own(then, i) != 0 {
		t.Errorf("blame %v, own waiting %v", b.At[i], during.Own(then, i))
	}
	if i := index(t, m, "nic:h7/n0"); b.Share(i) != 1 || during.Own(then, i) != 1 {
		t.Errorf("the nic has %v of the blame, own %v", b.Share(i), during.Own(then, i))
	}
}

// TestTheWholeTreeLeadsToTheReceiver: the tree of a slow receiver is full of
// queues, and every port in it is a victim.
func TestTheWholeTreeLeadsToTheReceiver(t *testing.T) {
	s := scenes()[0]
	w := quiet(t, 2, 2, 8)
	s.write(w)
	m, then, during := w.read()
	if got := fabric.Walk(during, then, s.job).Share(index(t, m, s.root)); got < 0.8 {
		t.Errorf("the receiver has %.2f of the blame", got)
	}
}

// TestOnlyWhatIsBeyondBeforeIsBlamed: an end is blamed only for waiting beyond what
// it had before.
func TestOnlyWhatIsBeyondBeforeIsBlamed(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	for _, e := range []string{"port:leaf0/s0", "port:leaf1/h7"} {
		w.report(e, queue, 1, grids, stands)
	}
	w.report("nic:h0/n0", pauseReceived, 1, grids, 0.3)
	_, then, during := w.read()
	if b := fabric.Walk(during, then, nodes("h0", "h7")); b.Total != 0 {
		t.Errorf("blame of %v s/s for what has always been", b.Total)
	}
}

// TestAPauseLoopGoesInACircle: four ports send pause to each other in a ring: none
// of them waits on its own account, and none of them is the root.
func TestAPauseLoopGoesInACircle(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	for _, e := range []string{"port:spine0/l0", "port:leaf1/s0", "port:spine1/l1", "port:leaf0/s1"} {
		w.pauses(e, 1)
		peer, _, _ := w.graph.Peer(entity(e))
		w.report(peer.String(), queue, half+1, grids, stands)
	}
	_, then, during := w.read()
	b := fabric.Walk(during, then, nodes("h0", "h7"))
	if b.Total == 0 || b.Circling < 0.99*b.Total {
		t.Errorf("%.3f of %.3f s/s go in a circle", b.Circling, b.Total)
	}
}

// At a degraded link the ceiling is flat and clearly below the speed, at a
// saturated one near it; without a queue there is none to be seen.
func TestCeilingDistinguishesDegradedFromSaturated(t *testing.T) {
	for _, c := range []struct {
		name       string
		write      func(w *world)
		ceiling    float64
		peakOfPast float64
	}{
		{"degraded", func(w *world) { w.stands("port:leaf0/s0", 0.3) }, 0.3, 0.9},
		{"saturated", func(w *world) { w.stands("port:leaf0/s0", 1) }, 1, 1 / 0.3},
		{"receives pause half the time", func(w *world) { w.pauses("port:spine0/l0", 0.5); w.stands("port:leaf0/s0", 0.5) }, 1, 0.5 * 3},
		{"receives pause all the time", func(w *world) { w.pauses("port:spine0/l0", 1); w.stands("port:leaf0/s0", 0) }, 0, 0},
		{"no queue", func(w *world) { w.sends("port:leaf0/s0", 0.1) }, 0, 0.3},
	} {
		w := quiet(t, 2, 2, 8)
		c.write(w)
		m, then, during := w.read()
		i := index(t, m, "port:leaf0/s0")
		if got := during.Of[i].Ceiling; math.Abs(got-c.ceiling) > 1e-9 {
			t.Errorf("%s: ceiling %v, want %v", c.name, got, c.ceiling)
		}
		if got, want := during.Of[i].Peak/then.Of[i].Peak, c.peakOfPast; c.name == "degraded" && math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: peak %v of before, want %v", c.name, got, want)
		}
	}
}

// TestTheWalkNeedsNoMarksAndNoQueues: runs with PFC only have no marks, and some
// switches report no queue: the walk needs neither.
func TestTheWalkNeedsNoMarksAndNoQueues(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	scenes()[1].write(w)
	for s := range w.slots {
		if s.Metric == marked || s.Metric == queue {
			delete(w.slots, s)
		}
	}
	m, then, during := w.read()
	b := fabric.Walk(during, then, scenes()[1].job)
	if got := b.Share(index(t, m, "nic:h7/n0")); got < 0.99 {
		t.Errorf("the nic has %.2f of the blame", got)
	}
}

// TestTheWalkKeepsToItsPriority: priorities do not pause each other: a storm on one
// is walked along that one, past a queue of another that has other reasons.
func TestTheWalkKeepsToItsPriority(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	w.lanes(w.switchPorts()...)
	during := func(name, metric string, v float64) { w.report(name, metric, half+1, grids, v) }
	during("nic:h7/n0", pauseSent, 0.9)
	during("queue:leaf1/h7/3", pauseReceived, 0.9)
	during("queue:leaf1/h7/0", queue, stands)
	during("queue:leaf1/h6/0", queue, stands)
	during("queue:leaf1/s0/3", pauseSent, 0.9)
	during("queue:spine0/l1/3", pauseReceived, 0.9)
	during("queue:spine0/l0/3", pauseSent, 0.9)
	during("queue:leaf0/s0/3", pauseReceived, 0.9)
	during("queue:leaf0/h0/3", pauseSent, 0.9)
	during("nic:h0/n0", pauseReceived, 0.9)
	m, then, now := w.read()
	b := fabric.Walk(now, then, nodes("h0", "h4"))
	for i := range m.Ends {
		if e := m.Ends[i]; e.Entity == entity("nic:h7/n0") != (b.Share(i) > 0.99) {
			t.Errorf("%v priority %q has %.2f of the blame", e.Entity, e.Lane, b.Share(i))
		}
	}
}

// TestAPortIsBlamedOnce: the waiting of a port is that of all its priorities, and
// its worst represents it.
func TestAPortIsBlamedOnce(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	w.lanes("port:leaf1/s1")
	w.report("queue:leaf1/s1/0", queue, half+1, grids, stands)
	w.report("queue:leaf1/s1/3", queue, half+1, half+half/2, stands)
	m, then, now := w.read()
	b := fabric.Walk(now, then, nodes("h0", "h7"))
	speak := 0
	for _, i := range m.Lanes(entity("port:leaf1/s1")) {
		share, worst := b.PortShare(m, i)
		if math.Abs(share-1) > 1e-9 || worst != (m.Ends[i].Lane == "0") {
			t.Errorf("priority %s: port has %.2f of the blame, worst %v", m.Ends[i].Lane, share, worst)
		}
		speak++
	}
	if speak != 2 || math.Abs(b.Total-1.5) > 1e-9 {
		t.Errorf("%d priorities, %v s/s", speak, b.Total)
	}
}

// TestEveryPriorityOfAPathIsOnIt: a NIC without priorities faces all those of its
// port.
func TestEveryPriorityOfAPathIsOnIt(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	w.lanes(w.switchPorts()...)
	m, _, _ := w.read()
	job := nodes("h0", "h7")
	want := trodden(m, job)
	for i, got := range fabric.OnPath(m, job) {
		if got != want[i] {
			t.Errorf("%v priority %q is on a path: %v", m.Ends[i].Entity, m.Ends[i].Lane, got)
		}
	}
}

// TestAQueueMetByChanceIsNobodysFault: a gauge samples a queue at moments. A queue
// that is there as often as before is sampled a little more often now and then: it
// is hardly ever blamed. One that is there all the time is.
func TestAQueueMetByChanceIsNobodysFault(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	blame := func(stands func(k int) bool) float64 {
		w := quiet(t, 2, 1, 4)
		w.report("port:leaf0/s0", txBytes, 1, grids, 0.4*speed)
		for k := 1; k <= grids; k++ {
			q := 0.0
			if stands(k) {
				q = 1e6
			}
			w.report("port:leaf0/s0", queue, k, k, q)
		}
		m, then, during := w.read()
		fabric.Walk(during, then, nodes("h0", "h3"))
		return during.Surely(then, index(t, m, "port:leaf0/s0"))
	}
	const runs, share = 300, 0.35
	blamed := 0
	for range runs {
		if blame(func(int) bool { return r.Float64() < share }) > 0 {
			blamed++
		}
	}
	if blamed > runs/20 {
		t.Errorf("blamed in %d of %d runs in which nothing changed", blamed, runs)
	}
	if b := blame(func(k int) bool { return k > half || r.Float64() < share }); b < 0.2 {
		t.Errorf("a queue that stands all the time is blamed for %v", b)
	}
}
