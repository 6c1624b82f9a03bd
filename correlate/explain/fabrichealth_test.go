package explain_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	seqErrors  = "roce_packet_seq_errors_total"
	timeouts   = "roce_ack_timeouts_total"
	outOfOrder = "roce_out_of_sequence_total"
	crcErrors  = "port_rx_crc_errors_total"
	discards   = "port_tx_discards_total"
	portUp     = "port_up"
	ecnMarks   = "port_ecn_marked_packets_total"
	queueBytes = "port_queue_bytes"
	txBytes    = "port_tx_bytes_total"
	rxBytes    = "port_rx_bytes_total"
)

// tape is a history written by hand: a value per series before the fault and one
// during it, 20 seconds each.
type tape struct {
	slots  map[telemetry.Series]int
	values [][2]float64
	last   map[int]telemetry.Time // of the series that were not sampled at the end
}

func (p *tape) Slot(s telemetry.Series) (int, bool) { i, ok := p.slots[s]; return i, ok }
func (p *tape) Cadence(int) telemetry.Duration      { return 1e9 }
func (p *tape) Unmoved(i int) bool                  { return p.values[i] == [2]float64{} }
func (p *tape) Last(i int) (telemetry.Time, bool) {
	if at, ok := p.last[i]; ok {
		return at, true
	}
	return at(86), true
}
func (p *tape) At(i int, g telemetry.Time) (float64, bool) {
	if g > at(66) {
		return p.values[i][1], true
	}
	return p.values[i][0], true
}

func (p *tape) Held(dst []float64, i int, first telemetry.Time, n int) []float64 {
	for k := range n {
		v, _ := p.At(i, first.Add(telemetry.Duration(k)*1e9))
		dst = append(dst, v)
	}
	return dst
}

func (p *tape) say(entityName, metric string, before, now float64) {
	s := telemetry.Series{Entity: entity(entityName), Metric: telemetry.MetricName(metric)}
	i, ok := p.slots[s]
	if !ok {
		i = len(p.values)
		p.slots[s] = i
		p.values = append(p.values, [2]float64{})
	}
	p.values[i] = [2]float64{before, now}
}

// recorded is the site of calm, read from a tape on which every end carries a third
// of its link, nothing is lost and no queue builds up.
func recorded(t *testing.T, write func(*tape)) *site {
	t.Helper()
	s := calm(t)
	p := &tape{slots: map[telemetry.Series]int{}}
	for i := range s.m.Ends {
		e := s.m.Ends[i].Entity.String()
		for _, m := range []string{txBytes, rxBytes} {
			p.say(e, m, speed/3, speed/3)
		}
		p.say(e, portUp, 1, 1)
		p.say(e, crcErrors, 0, 0)
		if s.m.Ends[i].IsNIC() {
			p.say(e, seqErrors, 0, 0)
			p.say(e, outOfOrder, 0, 0)
		} else {
			p.say(e, discards, 0, 0)
			p.say(e, queueBytes, 0, 0)
			p.say(e, ecnMarks, 100, 100)
		}
	}
	write(p)
	s.m = fabric.Survey(cabled(t), p)
	now := s.m.Read(p, 1e9, fabric.Span{From: at(66), To: at(86)})
	before := s.m.Read(p, 1e9, fabric.Span{From: at(46), To: at(66)})
	s.e.Fabric = &explain.FabricEvidence{Now: now, Before: before, OnPath: fabric.OnPath(s.m, s.e.Nodes), Blame: fabric.Walk(now, before, s.e.Nodes)}
	return s
}

// cabled is the graph of survey.
func cabled(t *testing.T) *topology.Graph {
	t.Helper()
	g := topology.New()
	s := survey(t)
	for i := range s.Ends {
		if p := s.Ends[i].Peer; p > i {
			g.Add(&telemetry.Edge{From: s.Ends[i].Entity, To: s.Ends[p].Entity, Relation: telemetry.Connects, Source: "file",
				Attrs: []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: "100000000000"}}})
		}
	}
	g.Advance(epoch)
	return g
}

// packets is how many packets of 4 KiB a third of a link is.
const packets = speed / 3 / 4096

func TestDamageIsOfTheLinkAndPerPacket(t *testing.T) {
	s := recorded(t, func(p *tape) {
		p.say("port:leaf0/s0", crcErrors, 1, 1+0.01*packets)
		p.say("nic:h7/n0", seqErrors, 0, 0.01*packets)
	})
	want := explain.Values{explain.LinkDamage: 0.01, explain.WorstDamage: 0.01, explain.DamageShare: 1, explain.Resent: 0.005}
	s.wants("port:leaf0/s0", want)
	s.wants("port:spine0/l0", want) // the other end sees nothing, and it is its link
}

func TestDisorderAndWhatIsTakenForLoss(t *testing.T) {
	s := recorded(t, func(p *tape) {
		p.say("nic:h7/n0", outOfOrder, 10, 10+0.02*packets)
		p.say("nic:h0/n0", seqErrors, 0, 0.01*packets)
	})
	s.wants("nic:h7/n0", explain.Values{explain.Disorder: 0.02, explain.DisorderPart: 1, explain.TakenForLoss: 0.5, explain.WorstDamage: 0, explain.PathDrops: 0})
	s.wants("port:leaf1/h7", explain.Values{explain.DisorderPart: 1})
	s.wants("nic:h0/n0", explain.Values{explain.LostAround: 1}) // all that is sent again is its own
}

// TestWhatIsLostAtTheEndOfAMessageTimesOut: what only comes out of order does not.
func TestWhatIsLostAtTheEndOfAMessageTimesOut(t *testing.T) {
	for _, lost := range []float64{0, 0.01} {
		s := recorded(t, func(p *tape) {
			p.say("nic:h0/n0", seqErrors, 0, 0.01*packets)
			p.say("nic:h0/n0", timeouts, 0, 0.01*lost*packets)
		})
		s.wants("nic:h0/n0", explain.Values{explain.TimedOut: lost})
	}
}

// TestOneEndCountsOneWay: what comes damaged at the end that counts nothing is not known.
func TestOneEndCountsOneWay(t *testing.T) {
	lossy := func(counted bool) *site {
		return recorded(t, func(p *tape) {
			p.say("nic:h0/n0", seqErrors, 0, 0.01*packets)
			p.say("port:leaf0/h0", discards, 0, 100)
			if !counted {
				delete(p.slots, telemetry.Series{Entity: entity("nic:h0/n0"), Metric: crcErrors})
			}
		})
	}
	lossy(true).wants("nic:h0/n0", explain.Values{explain.LinkDamage: 0, explain.DropsThere: 1})
	lossy(false).hides("nic:h0/n0", explain.LinkDamage)
}

func TestALinkThatIsDownIsACandidateAndItsSistersKnow(t *testing.T) {
	s := recorded(t, func(p *tape) {
		for _, e := range []string{"port:leaf0/s0", "port:spine0/l0"} {
			p.say(e, portUp, 1, 0)
			p.say(e, txBytes, speed/3, 0)
			p.say(e, rxBytes, speed/3, 0)
		}
		p.say("port:leaf0/s1", queueBytes, 0, 1e6)
	})
	s.wants("port:leaf0/s0", explain.Values{explain.LinkUp: 0, explain.DownNow: 1, explain.OwnerDown: 0, explain.SiblingsDown: 0})
	s.wants("port:leaf0/s1", explain.Values{explain.LinkUp: 1, explain.DownNow: 0, explain.SiblingsDown: 1})
}

// TestLinksThatWereReadBeforeItFellAreNoProof: of a spine that died, its other port may
// not have been read yet, and then it is not known whether the link fell alone.
func TestLinksThatWereReadBeforeItFellAreNoProof(t *testing.T) {
	down := func(read telemetry.Time) *site {
		return recorded(t, func(p *tape) {
			for _, e := range []string{"port:leaf0/s0", "port:spine0/l0"} {
				p.say(e, portUp, 1, 0)
			}
			p.last = map[int]telemetry.Time{}
			for _, e := range []string{"port:leaf1/s0", "port:spine0/l1"} {
				p.last[p.slots[telemetry.Series{Entity: entity(e), Metric: portUp}]] = read
			}
		})
	}
	down(at(60)).wants("port:leaf0/s0", explain.Values{explain.OwnerDown: 0, explain.OwnerDown.Err(): 1})
	down(at(67)).wants("port:leaf0/s0", explain.Values{explain.OwnerDown: 0, explain.OwnerDown.Err(): 0})
}

// TestALinkThatWasDownBeforeIsNoCandidate: a link that was down before the
// degradation is not its cause.
func TestALinkThatWasDownBeforeIsNoCandidate(t *testing.T) {
	s := recorded(t, func(p *tape) { p.say("port:leaf0/s0", portUp, 0, 0) })
	if c, ok := s.candidates()["port:leaf0/s0"]; ok {
		t.Errorf("it is, with %v", c.Values)
	}
}

func TestASwitchThatDropsAndNoLongerMarks(t *testing.T) {
	s := recorded(t, func(p *tape) {
		for _, e := range []string{"port:spine0/l0", "port:spine0/l1"} {
			p.say(e, discards, 3, 203)
			p.say(e, ecnMarks, 100, 0)
		}
	})
	s.wants("switch:spine0", explain.Values{explain.SwitchDrops: 400, explain.DropsHere: 1, explain.PathDrops: 400, explain.PeersDown: 0, explain.StoppedReporting: 0})
	if got := s.candidates()["switch:spine0"].Values[explain.MarksRise]; got > 0.001 {
		t.Errorf("it marks %v times as much as before and as its sibling, want nearly 0", got)
	}
	if got := s.candidates()["switch:spine0"].Values[explain.MarksMissing]; got != 0 {
		t.Errorf("marks are missing for %v of the time, and nothing stood", got)
	}
}

func TestASwitchWhoseLinksAreDownAtTheirOtherEnds(t *testing.T) {
	s := recorded(t, func(p *tape) {
		for _, e := range []string{"port:leaf0/s1", "port:leaf1/s1"} {
			p.say(e, portUp, 1, 0)
		}
	})
	s.wants("switch:spine1", explain.Values{explain.PeersDown: 1})
}

// TestALoopIsNamedByTheSwitchesItGoesThrough: the waiting of the job circles in
// four switches, and each knows how much.
func TestALoopIsNamedByTheSwitchesItGoesThrough(t *testing.T) {
	const told, tells = "port_pfc_rx_pause_seconds_total", "port_pfc_tx_pause_seconds_total"
	s := recorded(t, func(p *tape) {
		for _, link := range [][2]string{{"leaf0/s0", "spine0/l0"}, {"spine0/l1", "leaf1/s0"}, {"leaf1/s1", "spine1/l1"}, {"spine1/l0", "leaf0/s1"}} {
			p.say("port:"+link[0], told, 0, 1)
			p.say("port:"+link[1], tells, 0, 1)
		}
		p.say("port:leaf0/h0", tells, 0, 1)
		p.say("nic:h0/n0", told, 0, 1)
	})
	all := 0.0
	for _, sw := range []string{"switch:leaf0", "switch:leaf1", "switch:spine0", "switch:spine1"} {
		v := s.candidates()[sw].Values
		all += v[explain.Circling]
		if v[explain.Circling] <= 0 || !near(v[explain.LoopPauseReceived], 1) {
			t.Errorf("%s: %v", sw, v)
		}
	}
	if !near(all, 1) {
		t.Errorf("%v of the waiting goes round, want all of it", all)
	}
}

// TestANeighbourWhoseNicsAllRiseALittleSendsNoMore: the timing of its steps is no
// rise; what two of its NICs send beyond the others is.
func TestANeighbourWhoseNicsAllRiseALittleSendsNoMore(t *testing.T) {
	rise := func(extra float64) *site {
		s := recorded(t, func(p *tape) {
			for _, n := range []string{"nic:h1/n0", "nic:h2/n0", "nic:h3/n0", "nic:h4/n0", "nic:h5/n0"} {
				p.say(n, txBytes, speed/3, speed/3*1.2)
			}
			p.say("nic:h4/n0", txBytes, speed/3, speed/3*1.2+extra*speed)
		})
		s.e.Others = []explain.Other{{Job: entity("job:big"), Nodes: entities("node:h1", "node:h2", "node:h3", "node:h4", "node:h5")}}
		return s
	}
	rise(0).wants("job:big", explain.Values{explain.NetRise: 0})
	rise(0.2).wants("job:big", explain.Values{explain.NetRise: 0.2})
}

// TestWhatIsLostAroundOneNic: packets that one NIC exchanges with others are lost
// in both directions: it retransmits and receives out of order, its partners each
// do one of the two.
func TestWhatIsLostAroundOneNic(t *testing.T) {
	s := recorded(t, func(p *tape) {
		p.say("nic:h7/n0", seqErrors, 0, 0.01*packets)
		p.say("nic:h7/n0", outOfOrder, 0, 0.02*packets)
		p.say("nic:h0/n0", seqErrors, 0, 0.01*packets)
		p.say("nic:h6/n0", outOfOrder, 0, 0.02*packets)
	})
	s.wants("nic:h7/n0", explain.Values{explain.LostAround: 1, explain.LostAroundOne: 1})
	s.wants("port:leaf1/h7", explain.Values{explain.LostAround: 1})
}
