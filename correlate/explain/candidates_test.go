package explain_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// lost is the share of its time that the job of calm loses.
const lost = 1 - 3.3/5.1

func (s *site) wants(name string, want explain.Values) {
	s.t.Helper()
	c, ok := s.candidates()[name]
	if !ok {
		s.t.Fatalf("%s is no candidate", name)
	}
	for m, w := range want {
		if got, seen := c.Values[m]; !seen || !near(got, w) {
			s.t.Errorf("%s: %s is %v (seen: %v), want %v", name, m, got, seen, w)
		}
	}
}

func (s *site) hides(name string, unseen ...explain.Measure) {
	s.t.Helper()
	c := s.candidates()[name]
	for _, m := range unseen {
		if v, seen := c.Values[m]; seen {
			s.t.Errorf("%s: %s is %v, want it unseen", name, m, v)
		}
	}
}

func TestMeasuresOfASlowReceiver(t *testing.T) {
	s := slowReceiver(t)
	s.now("nic:h7/n0").Idle, s.now("nic:h7/n0").PauseSentIdle = 3, 0.05
	s.wants("nic:h7/n0", explain.Values{explain.BlameShare: 1.7 / 1.8, explain.PauseSent: 0.6, explain.PauseReceived: 0, explain.Waiting: 0.6,
		explain.Explained: 0.6 / lost, explain.PauseSentIdle: 0.05, explain.FacesHost: 0, explain.Between: 0, explain.LoadRatio: 1})
	s.wants("port:leaf1/h7", explain.Values{explain.BlameShare: 0.1 / 1.8, explain.PauseReceived: 0.6, explain.Waiting: 0, explain.FacesHost: 1,
		explain.Ceiling: 0.4, explain.CeilingRatio: 0.4 / 0.6, explain.ReverseRatio: 1})
	s.hides("port:leaf1/h7", explain.PauseSentIdle, explain.HotAlone)
	if c := s.candidates()["nic:h7/n0"]; c.Peer != entity("port:leaf1/h7") {
		t.Errorf("its peer is %v", c.Peer)
	}
}

func TestMeasuresOfAnUplink(t *testing.T) {
	s := degradedUplink(t)
	s.stands("port:leaf0/s1", 0.3, 0.6)
	s.now("port:leaf0/s0").RUtil = load*slower - 0.2 + 0.05
	s.wants("port:leaf0/s0", explain.Values{explain.Between: 1, explain.HotAlone: 0.75, explain.Ceiling: 0.3, explain.CeilingRatio: 0.5,
		explain.ReverseRatio: 0.5, explain.Explained: 0.9 / lost, explain.Lopsided: 0.15, explain.NeighbourUp: 0, explain.LoadRatio: 1})
}

// What a link sends more, hosts send: if none outside the job does, its own may send it what
// they sent to others.
func TestWhoSendsWhatAPortSendsMore(t *testing.T) {
	s := calm(t)
	s.blames(1, "port:leaf1/h7")
	n := s.now("port:leaf1/h7")
	s.before("port:leaf1/h7").Util = 0
	n.Util, n.RUtil = 0.4, load
	s.now("nic:h1/n0").Util = load + 0.2
	s.wants("port:leaf1/h7", explain.Values{explain.Lopsided: 0.4})
	s.hides("port:leaf1/h7", explain.SentByOthers)
	s.now("nic:h2/n0").Util = load + 0.2
	s.wants("port:leaf1/h7", explain.Values{explain.SentByOthers: 1})
	n.Util = 0
	s.hides("port:leaf1/h7", explain.SentByOthers)
}

// Packets that are sent again are sent by the job's own NICs: where none counts them, one of
// them that sends as much more shows it.
func TestANICOfTheJobSendsWhatAPortSendsMore(t *testing.T) {
	for name, more := range map[string]float64{"as much": 0.4, "a little": 0.1} {
		s := calm(t)
		s.blames(1, "port:leaf1/h7")
		s.before("port:leaf1/h7").Util = 0
		n := s.now("port:leaf1/h7")
		n.Util, n.RUtil = 0.4, load
		s.now("nic:h0/n0").Util = load + more
		if _, seen := s.candidates()["port:leaf1/h7"].Values[explain.SentByOthers]; seen != (more >= 0.2) {
			t.Errorf("%s: that others send it is known: %v", name, seen)
		}
	}
}

// Where no pause is counted, that a host sends none is not known.
func TestPauseThatIsNotCountedIsNotKnown(t *testing.T) {
	s := slowReceiver(t)
	s.now("nic:h7/n0").Stops = false
	s.hides("nic:h7/n0", explain.PauseSent, explain.PauseSentIdle)
}

// Whoever sends more may be among the NICs that are not read.
func TestWhatIsSentByNICsThatAreNotReadIsNotKnown(t *testing.T) {
	s := calm(t)
	s.blames(1, "port:leaf1/h7")
	s.before("port:leaf1/h7").Util, s.now("port:leaf1/h7").RUtil = 0, load
	s.now("port:leaf1/h7").Util = 0.4
	s.now("nic:h4/n0").Util = load + 0.4
	for _, of := range []string{"nic:h1/n0", "nic:h2/n0", "nic:h3/n0"} {
		s.before(of).Seen = 0
	}
	if got := s.candidates()["port:leaf1/h7"].Values[explain.SentByOthers.Err()]; got < 0.5 {
		t.Errorf("with three of six NICs not read the error is %v", got)
	}
}

// A downlink's siblings are the other links into the same switch.
func TestADownlinkHasTheOtherWaysInForSiblings(t *testing.T) {
	s := calm(t)
	s.stands("port:spine0/l1", 0.8, 0.3)
	s.stands("port:spine1/l1", 0.2, 0.3)
	s.blames(1, "port:spine0/l1")
	s.wants("port:spine0/l1", explain.Values{explain.HotAlone: 0.8})
}

// What a downlink carries more, and one link brings all of, met before it came there;
// what two links bring half of each met there. An uplink's comes from the hosts.
func TestWhereFlowsMet(t *testing.T) {
	s := calm(t)
	for _, p := range []string{"port:leaf0/s0", "port:spine0/l1"} {
		s.stands(p, 0.8, 1)
		s.carries(p, load+0.4)
		s.blames(1, p)
	}
	s.now("port:spine0/l0").RUtil = load + 0.4
	s.wants("port:spine0/l1", explain.Values{explain.Brought: 1})
	s.wants("port:leaf0/s0", explain.Values{explain.Brought: 0})
	s.now("port:spine0/l0").RUtil = load + 0.2
	s.wants("port:spine0/l1", explain.Values{explain.Brought: 0.5})
	s.carries("port:spine0/l1", load)
	s.hides("port:spine0/l1", explain.Brought)
}

// A sample that averages over a step shows no ceiling.
func TestCoarseSamplesShowNoCeiling(t *testing.T) {
	s := degradedUplink(t)
	s.now("port:leaf0/s0").Cadence = 10
	s.hides("port:leaf0/s0", explain.Ceiling, explain.CeilingRatio, explain.ReverseRatio)
}

func TestLoadIsPerUnitOfWork(t *testing.T) {
	s := degradedUplink(t)
	for _, n := range []string{"nic:h0/n0", "nic:h7/n0"} {
		s.carries(n, load/2) // the job sends half as much
	}
	s.carries("port:leaf0/s0", load)
	s.wants("port:leaf0/s0", explain.Values{explain.LoadRatio: 2})
	s.before("port:leaf0/s0").Util = 0 // it was idle: any ratio is capped
	s.wants("port:leaf0/s0", explain.Values{explain.LoadRatio: 20})
}

func TestMeasuresOfNeighbours(t *testing.T) {
	s := noisyNeighbour(t)
	s.carries("nic:h3/n0", 0.5) // someone of no job
	s.wants("job:big", explain.Values{explain.Rise: 1, explain.RiseShare: 1 / 1.2, explain.UplinkPart: 1,
		explain.SharedExplained: 0.7 / lost, explain.SharedLoad: 4, explain.SharedCap: 0.95 / 0.6})
	s.hides("job:big", explain.RoseApart)
	for from, apart := range map[float64]float64{60: 0, 30: 68.5 - 32 - 6.6, 120: 122 - 68.5 - 6.6} {
		s.e.Others[0].Rose = span(from, from+4) // the job is slower since 66 to 71, and a step takes 3.3
		s.wants("job:big", explain.Values{explain.RoseApart: apart})
	}
	for from, late := range map[float64]float64{60: 0, 69: 0, 120: (120 - 71) / 3.3} {
		s.e.Others[0].Rose = span(from, from+4)
		s.wants("job:big", explain.Values{explain.TooLate: late})
	}
	s.e.Others[0].Rose = telemetry.Interval{} // the window has forgotten when
	for until, late := range map[float64]float64{0: 0, 70: 0, 120: (120 - 71) / 3.3} {
		s.e.Others[0].Flat = at(until)
		s.wants("job:big", explain.Values{explain.TooLate: late})
		s.hides("job:big", explain.RoseApart)
	}
	s.carries("nic:h1/n0", 0.3)
	s.carries("nic:h2/n0", 0.2)
	if _, ok := s.candidates()["job:big"]; ok {
		t.Error("a job that sends less than before is a candidate")
	}
}

func TestMeasuresOfHosts(t *testing.T) {
	s := slowRank(t)
	// Each of two hosts is compared with the other, and of these two one computes longer.
	s.wants("node:h7", explain.Values{explain.ComputeExcess: 1.7 / 1.8, explain.PeersLate: 0, explain.LateStart: 1.6 / 1.8, explain.FabricExplained: 0})
	s.wants("job:train", explain.Values{explain.ComputeUniform: 0})
	if _, ok := s.candidates()["node:h0"]; ok {
		t.Error("a host that is in time is a candidate")
	}
	s = slowRank(t)
	s.e.Nodes = entities("node:h0", "node:h1", "node:h7")
	s.e.Hosts = slices.Insert(s.e.Hosts, 1, s.e.Hosts[0])
	s.e.Hosts[1].Node = entity("node:h1")
	s.wants("node:h7", explain.Values{explain.ComputeExcess: 1.7 / 1.8, explain.PeersLate: 0, explain.LateStart: 1.6 / 1.8})
	// Where a third of the hosts are late, and as much, none of them is late alone.
	early, late := s.e.Hosts[0], s.e.Hosts[2]
	for i := range 8 {
		h := early
		if i%2 == 0 {
			h = late
		}
		h.Node = entity(fmt.Sprintf("node:h8%d", i))
		s.e.Nodes, s.e.Hosts = append(s.e.Nodes, h.Node), append(s.e.Hosts, h)
	}
	if _, ok := s.candidates()["node:h7"]; ok {
		t.Error("one of five that are late is a candidate")
	}
	s.e.Nodes, s.e.Hosts = s.e.Nodes[:3], s.e.Hosts[:3]
	s.e.Fabric = nil
	s.hides("node:h7", explain.FabricExplained)
}

func TestMeasuresOfTheJobItself(t *testing.T) {
	s := moreWork(t)
	work := (0.31 / 0.3 * 5.1 / 3.3) - 1
	s.wants("job:train", explain.Values{explain.WorkExcess: work / (1.8 / 3.3), explain.ComputeUniform: 1.7 / 1.8, explain.FabricExplained: 0})
}

// TestACheckpointMayLieInOneSpanAndNotInTheOther: the longer checkpoints take, the
// larger the error of the bytes sent per step.
func TestACheckpointMayLieInOneSpanAndNotInTheOther(t *testing.T) {
	err := func(saving float64) float64 {
		s := moreWork(t)
		begun := s.e.Degradation.Onset.Earliest
		s.e.From, s.e.To, s.e.Saving = begun.Add(-96e9), begun.Add(60e9), saving
		for _, c := range explain.Candidates(s.e) {
			if c.Entity == entity("job:train") {
				return c.Values[explain.WorkExcess.Err()]
			}
		}
		t.Fatal("the job is no candidate")
		return 0
	}
	none, long := err(0), err(20)
	if none <= 0 || long < 2*none {
		t.Errorf("error %v without checkpoints, %v with those of 20 s", none, long)
	}
}

// TestACauseIsNotLaterThanItsEffect: a cause that certainly began after the
// degradation has that counted against it; one that is not known to have, has not.
func TestACauseIsNotLaterThanItsEffect(t *testing.T) {
	s := slowReceiver(t)
	s.wants("nic:h7/n0", explain.Values{explain.TooLate: 0})
	begins := func(from, to float64, ok bool) {
		s.e.Onset = func(telemetry.Series, float64, telemetry.Interval) (telemetry.Interval, bool) {
			return span(from, to), ok
		}
	}
	begins(70.9, 80, true) // it may have begun before 71 s
	s.wants("nic:h7/n0", explain.Values{explain.TooLate: 0})
	begins(71+3.3/2, 80, true)
	s.wants("nic:h7/n0", explain.Values{explain.TooLate: 0.5})
	begins(90, 95, false)
	s.hides("nic:h7/n0", explain.TooLate)
}

// Only what the job's waiting leads to is a candidate, the most blamed first.
func TestCandidatesAreCoupledToTheJob(t *testing.T) {
	s := slowReceiver(t)
	s.pauses("nic:h3/n0", 0.9) // somebody else's trouble
	s.stands("port:leaf0/h3", 1, 0.1)
	var names []string
	for _, c := range explain.Candidates(s.e) {
		names = append(names, c.Entity.String())
	}
	if want := []string{"nic:h7/n0", "port:leaf1/h7", "switch:leaf1", "job:train"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestWithoutAFabricTheJobIsStillACandidate(t *testing.T) {
	s := calm(t)
	s.e.Fabric = nil
	if got := explain.Candidates(s.e); len(got) != 1 || got[0].Entity != s.e.Job || len(got[0].Values) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestTheShippedSignaturesNameTheScenes: a scene shows little, so that the answer is
// among the first three.
func TestTheShippedSignaturesNameTheScenes(t *testing.T) {
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		scene           func(*testing.T) *site
		root, signature string
	}{
		{slowReceiver, "nic:h7/n0", "slow-receiver"},
		{degradedUplink, "port:leaf0/s0", "link-degraded"},
		{incast, "port:leaf1/h7", "incast"},
		{noisyNeighbour, "job:big", "noisy-neighbour"},
		{slowRank, "node:h7", "slow-rank"},
		{lateHost, "node:h7", "slow-rank"},
		{moreWork, "job:train", "workload-change"},
		{calm, "job:train", explain.Unknown},
	} {
		s := c.scene(t)
		got := judge(set.Signatures, explain.Candidates(s.e), s.e.Job, 3)
		if !slices.ContainsFunc(got, func(a explain.Answer) bool { return a.Entity == entity(c.root) && a.Name() == c.signature }) {
			t.Errorf("%s at %s: got %s at %v with %.2f", c.signature, c.root, got[0].Name(), got[0].Entity, got[0].Confidence)
		}
	}
}

// TestAShareOfNothingIsNotSeen: neither a value that is no number nor one whose error is
// none is weighed, whatever reads it.
func TestAShareOfNothingIsNotSeen(t *testing.T) {
	s := slowRank(t)
	s.e.Hosts[0].ComputeNow = math.NaN()
	for _, c := range explain.Candidates(s.e) {
		for m, x := range c.Values {
			if x != x {
				t.Errorf("%s: %s is %v", c.Entity, m, x)
			}
		}
	}
}
