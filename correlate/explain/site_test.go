package explain_test

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// site is two leaves, two spines and eight hosts, on which evidence is written
// by hand: host h3 on leaf0 has nic:h3/n0 on port:leaf0/h3, port:leaf0/s1 leads
// to port:spine1/l0. Job train runs on h0 and h7 with eight GPUs each; a step
// takes 5.1 s instead of 3.3 s.
type site struct {
	t *testing.T
	m *fabric.Map
	e *explain.Evidence
}

const (
	epoch = telemetry.Time(1_760_000_000e9)
	speed = 100e9 / 8
	// load is what every end carries before, and slower what the job's ends
	// carry of it when its steps take 5.1 s: the same bytes in a longer time.
	load   = 0.3
	slower = 3.3 / 5.1
)

func at(seconds float64) telemetry.Time { return epoch.Add(telemetry.Duration(seconds * 1e9)) }

func span(from, to float64) telemetry.Interval {
	return telemetry.Interval{Earliest: at(from), Latest: at(to)}
}

// silent is a history in which no series has data.
type silent struct{}

func (silent) Slot(telemetry.Series) (int, bool)      { return 0, false }
func (silent) At(int, telemetry.Time) (float64, bool) { return 0, false }
func (silent) Last(int) (telemetry.Time, bool)        { return 0, false }
func (silent) Held(dst []float64, _ int, _ telemetry.Time, _ int) []float64 {
	return dst
}
func (silent) Cadence(int) telemetry.Duration            { return 0 }
func (silent) Unmoved(int) bool                          { return false }
func (s *site) index(name string) int                    { return index(s.t, s.m, name) }
func (s *site) now(name string) *fabric.Reading          { return &s.e.Fabric.Now.Of[s.index(name)] }
func (s *site) before(name string) *fabric.Reading       { return &s.e.Fabric.Before.Of[s.index(name)] }
func (s *site) candidates() map[string]explain.Candidate { return byName(explain.Candidates(s.e)) }

func index(t *testing.T, m *fabric.Map, name string) int {
	t.Helper()
	i, ok := m.Index(entity(name))
	if !ok {
		t.Fatalf("%s is not on the map", name)
	}
	return i
}

func byName(cs []explain.Candidate) map[string]explain.Candidate {
	out := map[string]explain.Candidate{}
	for _, c := range cs {
		out[c.Entity.String()] = c
	}
	return out
}

func entity(s string) telemetry.Entity {
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		panic(err) // a test's own name
	}
	return e
}

func entities(names ...string) []telemetry.Entity {
	var out []telemetry.Entity
	for _, n := range names {
		out = append(out, entity(n))
	}
	return out
}

func survey(t *testing.T) *fabric.Map {
	t.Helper()
	g := topology.New()
	cable := func(from, to string) {
		e := &telemetry.Edge{From: entity(from), To: entity(to), Relation: telemetry.Connects, Source: "file",
			Attrs: []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: fmt.Sprint(int64(speed * 8))}}}
		if o := g.Add(e); o != topology.Accepted {
			t.Fatalf("%s to %s: %v", from, to, o)
		}
	}
	for h := range 8 {
		cable(fmt.Sprintf("nic:h%d/n0", h), fmt.Sprintf("port:leaf%d/h%d", h/4, h))
	}
	for l := range 2 {
		for s := range 2 {
			cable(fmt.Sprintf("port:leaf%d/s%d", l, s), fmt.Sprintf("port:spine%d/l%d", s, l))
		}
	}
	g.Advance(epoch)
	return fabric.Survey(g, silent{})
}

// calm is the site on which nothing but the job's steps has changed.
func calm(t *testing.T) *site {
	t.Helper()
	m := survey(t)
	n := len(m.Ends)
	now, before := &fabric.Readings{Map: m, Of: make([]fabric.Reading, n)}, &fabric.Readings{Map: m, Of: make([]fabric.Reading, n)}
	blame := &fabric.Blame{At: make([]float64, n), Via: make([]int, n)}
	for i := range n {
		now.Of[i] = fabric.Reading{Seen: 20, Counted: 20, Stops: true, Cadence: 1, Util: load, RUtil: load, Peak: 0.6, RPeak: 0.6}
		before.Of[i] = now.Of[i]
		blame.Via[i] = -1
	}
	e := &explain.Evidence{Job: entity("job:train"), GPUs: 16, Nodes: entities("node:h0", "node:h7"),
		Degradation: &jobs.Degradation{State: jobs.Slow, Onset: span(66, 71), Opened: at(75), Before: 3.3, Expected: 3.3, Usual: 3.3,
			Steps: 4, Sum: 4 * 5.1, LastSlow: at(86), Lost: 4 * 1.8}}
	// Any series with a level began in the two seconds before the job's
	// degradation.
	e.Onset = func(x telemetry.Series, level float64, near telemetry.Interval) (telemetry.Interval, bool) {
		if level <= 0 {
			t.Errorf("%v: asked for level %v", x, level)
		}
		return telemetry.Interval{Earliest: near.Earliest.Add(-2e9), Latest: near.Earliest}, true
	}
	onPath := fabric.OnPath(m, e.Nodes)
	for i, on := range onPath {
		if on {
			now.Of[i].Util, now.Of[i].RUtil = load*slower, load*slower
		}
	}
	e.Fabric = &explain.FabricEvidence{Now: now, Before: before, Blame: blame, OnPath: onPath}
	return &site{t: t, m: m, e: e}
}

// pauses lets an end send pause to its peer for a share of the degradation.
func (s *site) pauses(name string, share float64) {
	i := s.index(name)
	s.e.Fabric.Now.Of[i].PauseSent += share
	p := &s.e.Fabric.Now.Of[s.m.Ends[i].Peer]
	p.PauseReceived += share
	p.Wait = max(p.Wait, p.PauseReceived)
}

// stands lets a queue build up at a port for a share of the degradation, in which
// it sends at a share of its speed.
func (s *site) stands(name string, share, rate float64) {
	n := s.now(name)
	n.Wait, n.Ceiling, n.Peak = share, rate, rate
}

// carries lets an end send at a share of its speed, on average.
func (s *site) carries(name string, util float64) {
	i := s.index(name)
	s.e.Fabric.Now.Of[i].Util = util
	s.e.Fabric.Now.Of[s.m.Ends[i].Peer].RUtil = util
}

// blames sets where the job's waiting ends, and how it got there: from the end that
// has it back to the job.
func (s *site) blames(amount float64, walk ...string) {
	s.e.Fabric.Blame.At[s.index(walk[0])] += amount
	s.e.Fabric.Blame.Total += amount
	for k := 1; k < len(walk); k++ {
		s.e.Fabric.Blame.Via[s.index(walk[k-1])] = s.index(walk[k])
	}
}

// hosts gives the job's hosts their compute times, before and now, and by how
// much later they send.
func (s *site) hosts(compute [2][2]float64, lag [2]float64) {
	for i, node := range s.e.Nodes {
		h := explain.HostEvidence{Node: node, Rank: telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprintf("train/%d", i)}}
		h.ComputeBefore, h.ComputeNow = compute[i][0], compute[i][1]
		h.Lag.Seconds, h.HasCompute, h.HasLag = lag[i], h.ComputeBefore > 0, lag != [2]float64{}
		s.e.Hosts = append(s.e.Hosts, h)
	}
}

// slowReceiver lets h7 receive slower than it is sent data.
func slowReceiver(t *testing.T) *site {
	s := calm(t)
	s.pauses("nic:h7/n0", 0.6)
	s.stands("port:leaf1/h7", 0.6, 0.4)
	s.pauses("port:leaf1/s0", 0.5)
	s.pauses("port:spine0/l0", 0.4)
	s.pauses("port:leaf0/h0", 0.3)
	s.blames(1.7, "nic:h7/n0", "port:leaf1/h7", "port:spine0/l1", "port:leaf0/s0", "nic:h0/n0")
	s.blames(0.1, "port:leaf1/h7")
	return s
}

// degradedUplink slows the link between leaf0 and spine0, both ways.
func degradedUplink(t *testing.T) *site {
	s := calm(t)
	s.stands("port:leaf0/s0", 0.9, 0.3)
	s.now("port:leaf0/s0").RPeak = 0.3
	s.pauses("port:leaf0/h0", 0.5)
	s.blames(1.4, "port:leaf0/s0", "nic:h0/n0")
	return s
}

// incast lets two other jobs send to h7 alike in addition to the job.
func incast(t *testing.T) *site {
	s := calm(t)
	s.stands("port:leaf1/h7", 0.9, 1)
	s.carries("port:leaf1/h7", 0.9)
	s.pauses("port:leaf1/s0", 0.4)
	s.pauses("port:leaf1/h5", 0.2)
	s.blames(1.3, "port:leaf1/h7", "port:spine0/l1")
	s.carries("nic:h5/n0", 0.5)
	s.carries("nic:h6/n0", 0.5)
	s.e.Others = []explain.Other{{Job: entity("job:ckpt"), Nodes: entities("node:h5")}, {Job: entity("job:eval"), Nodes: entities("node:h6")}}
	return s
}

// noisyNeighbour lets job big, which began with the degradation, fill the uplinks.
func noisyNeighbour(t *testing.T) *site {
	s := calm(t)
	for _, p := range []string{"port:leaf0/s0", "port:leaf0/s1"} {
		s.stands(p, 0.7, 0.95)
		s.carries(p, 0.8)
		s.blames(0.5, p, "nic:h0/n0")
	}
	s.carries("nic:h1/n0", 0.8)
	s.carries("nic:h2/n0", 0.8)
	s.e.Others = []explain.Other{{Job: entity("job:big"), Since: at(67), Nodes: entities("node:h1", "node:h2")}}
	return s
}

// slowRank lets h7 compute 1.7 s longer than before.
func slowRank(t *testing.T) *site {
	s := calm(t)
	s.hosts([2][2]float64{{1.9, 1.9}, {1.9, 3.6}}, [2]float64{0, 1.6})
	return s
}

// lateHost shows the same where no compute times are reported.
func lateHost(t *testing.T) *site {
	s := calm(t)
	s.hosts([2][2]float64{}, [2]float64{0.1, 1.7})
	return s
}

// moreWork lets every rank compute longer and send more.
func moreWork(t *testing.T) *site {
	s := calm(t)
	s.hosts([2][2]float64{{1.9, 3.6}, {1.9, 3.7}}, [2]float64{})
	for _, n := range []string{"nic:h0/n0", "nic:h7/n0"} {
		s.carries(n, 0.31)
	}
	return s
}
