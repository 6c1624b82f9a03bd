package fabric_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	waitSeconds = "port_xmit_wait_seconds_total"
	waitTicks   = "port_xmit_wait_ticks_total"
)

// infiniBand is a fabric without pause and queues, whose ends count the time in
// which they have no credit: no end ever waits.
func infiniBand(t testing.TB, metric string) *world {
	t.Helper()
	w := build(t, 2, 2, 8)
	for _, kind := range []telemetry.Kind{telemetry.NIC, telemetry.Port} {
		for _, e := range w.graph.Entities(kind) {
			for _, m := range []string{txBytes, rxBytes} {
				w.report(e.String(), m, 1, grids, speed/3)
			}
			w.report(e.String(), metric, 1, grids, 0)
		}
	}
	return w
}

// slowHCA lets h7 give few credits: its leaf port, and all on the way to it, wait
// for some of the time and send in the rest. unit is what a counter counts in a
// second of waiting.
func slowHCA(t testing.TB, metric string, unit float64) *world {
	w := infiniBand(t, metric)
	for _, s := range []struct {
		end  string
		wait float64
	}{{"port:leaf1/h7", 0.7}, {"port:spine0/l1", 0.6}, {"port:leaf0/s0", 0.6}, {"nic:h0/n0", 0.5}} {
		w.report(s.end, metric, half+1, grids, s.wait*unit)
		w.sends(s.end, 1-s.wait)
	}
	return w
}

// TestTheWalkFollowsMissingCreditsAsItFollowsPause: to the host channel adapter
// that gives none, whatever the length of a tick.
func TestTheWalkFollowsMissingCreditsAsItFollowsPause(t *testing.T) {
	for name, c := range map[string]struct {
		metric string
		unit   float64
	}{"seconds": {waitSeconds, 1}, "short ticks": {waitTicks, speed / 8}, "long ticks": {waitTicks, speed / 32},
		"long ticks of each lane": {waitTicks, speed / 128}} {
		w := slowHCA(t, c.metric, c.unit)
		m, then, during := w.readBeside()
		root, port := index(t, m, "nic:h7/n0"), index(t, m, "port:leaf1/h7")
		if r := during.Of[port]; !near(r.PauseReceived, 0.7) || !r.Credits {
			t.Errorf("%s: the port waits %v (credits: %v), want 0.7", name, r.PauseReceived, r.Credits)
		}
		if r := during.Of[root]; !near(r.PauseSent, 0.7) || r.Idle != 0 {
			t.Errorf("%s: the nic withholds %v in %d idle grids, want 0.7 and none", name, r.PauseSent, r.Idle)
		}
		b := fabric.Walk(during, then, nodes("h0", "h7"))
		if b.Share(root) < 0.9 {
			t.Errorf("%s: %v of the waiting ends at the nic", name, b.Share(root))
		}
		for _, v := range []string{"nic:h0/n0", "port:leaf0/s0", "port:spine0/l1", "port:leaf1/h7"} {
			if got := b.Share(index(t, m, v)); got > 0.05 {
				t.Errorf("%s: %v of the waiting ends at the victim %s", name, got, v)
			}
		}
	}
}

// TestWhereNoCreditsAreGivenTrafficQueuesBeforeTheFullestWayOut: h7's port is sent
// more than it passes; it sends all the time, waits for no end, and shows no queue.
func TestWhereNoCreditsAreGivenTrafficQueuesBeforeTheFullestWayOut(t *testing.T) {
	overrun := func(full float64, ports ...string) (*fabric.Map, *fabric.Readings, *fabric.Blame) {
		w := infiniBand(t, waitSeconds)
		for _, end := range []string{"port:spine0/l1", "port:leaf0/s0", "nic:h0/n0"} {
			w.report(end, waitSeconds, half+1, grids, 0.4)
		}
		for _, p := range ports {
			w.sends(p, full)
		}
		m, then, during := w.read()
		return m, during, fabric.Walk(during, then, nodes("h0", "h7"))
	}
	m, during, b := overrun(0.9, "port:leaf1/h7")
	root := index(t, m, "port:leaf1/h7")
	if got := during.Of[root]; math.Abs(got.Wait-0.4) > 1e-6 || got.PauseReceived != 0 || math.Abs(got.Ceiling-0.9) > 1e-6 {
		t.Errorf("traffic waited %v of the time at %v of the speed, received pause %v; want 0.4, 0.9, 0", got.Wait, got.Ceiling, got.PauseReceived)
	}
	if got := b.Share(root); got < 0.9 {
		t.Errorf("%v of the waiting ends before the full port", got)
	}
	// Where all are alike, none is singled out, and each may be the one.
	m, during, _ = overrun(0.9, "port:leaf1/h4", "port:leaf1/h5", "port:leaf1/h6", "port:leaf1/h7", "port:leaf1/s1", "port:leaf1/s0")
	if got := during.Of[index(t, m, "port:leaf1/h7")].Wait; got != 0 {
		t.Errorf("traffic is said to have stood for %v before one of six ports alike", got)
	}
	// What spine0 sends is held back: that does not go back to it.
	for port, want := range map[string]float64{"port:leaf1/s1": 0.4, "port:leaf1/s0": 0, "port:leaf1/h7": 0.4, "port:leaf0/h0": 0} {
		if got := during.Of[index(t, m, port)].PossiblyQueued; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: perhaps %v, want %v", port, got, want)
		}
	}
}

// TestABlockedPortShowsTheTick: of whatever length it is, from 8 byte times to a
// microsecond.
func TestABlockedPortShowsTheTick(t *testing.T) {
	for _, seconds := range []float64{8 / speed, 128 / speed, 22e-9, 1e-6} {
		w := slowHCA(t, waitTicks, 1/seconds)
		m, _, during := w.readBeside()
		if r := during.Of[index(t, m, "port:leaf1/h7")]; !near(r.PauseReceived, 0.7) || r.Slack > 1 {
			t.Errorf("a tick of %v s: the port waits %v, perhaps %v times too long; want 0.7 surely", seconds, r.PauseReceived, r.Slack)
		}
	}
}

// waitsInBursts lets one end wait, by short ticks, for a fiftieth of the time in every other grid and
// for less in those between, and another for so much of that.
func waitsInBursts(t *testing.T, one, other string, part float64) *world {
	w := infiniBand(t, waitTicks)
	for k := half + 1; k <= grids; k++ {
		burst := 1.0
		if k%2 == 0 {
			burst = 0.3
		}
		w.report(one, waitTicks, k, k, burst*0.02*speed/8)
		w.report(other, waitTicks, k, k, part*burst*0.02*speed/8)
	}
	return w
}

// TestWhereNothingIsBlockedATickIsAsLongAsItCanBe: traffic comes in bursts, and no
// two grids in a row are filled. The estimate may be too long, by as much as ticks
// may be shorter, and the two switches' ticks are alike.
func TestWhereNothingIsBlockedATickIsAsLongAsItCanBe(t *testing.T) {
	w := waitsInBursts(t, "port:leaf1/h7", "port:leaf0/s0", 0.1)
	m, _, during := w.readBeside()
	most := 2. / 3 // beside the third of the time that it sends
	if r := during.Of[index(t, m, "port:leaf1/h7")]; math.Abs(r.Slack-most/0.02) > 1e-4 || math.Abs(r.PauseReceived-0.65*most) > 0.02 {
		t.Errorf("it waits %v, perhaps %v times too long; want %v, %v", r.PauseReceived, r.Slack, 0.65*most, most/0.02)
	}
	if r := during.Of[index(t, m, "port:leaf0/s0")]; math.Abs(r.PauseReceived-0.065*most) > 0.002 {
		t.Errorf("the other switch's port waits %v, want a tenth", r.PauseReceived)
	}
}

// TestUnknownTicksAreAsLongAsThoseOfTheOtherDevices: nics wait for a third of the time, in
// bursts, and switches for a hundredth of that. By the longest tick that the switches alone
// allow, they would be held back for most of the time.
func TestUnknownTicksAreAsLongAsThoseOfTheOtherDevices(t *testing.T) {
	w := waitsInBursts(t, "nic:h0/n0", "port:leaf0/s0", 0.01)
	m, _, during := w.readBeside()
	const most = 2. / 3
	if r := during.Of[index(t, m, "nic:h0/n0")]; math.Abs(r.PauseReceived-0.65*most) > 0.02 {
		t.Errorf("the nic waits %v, want %v", r.PauseReceived, 0.65*most)
	}
	if r := during.Of[index(t, m, "port:leaf0/s0")]; math.Abs(r.PauseReceived-0.0065*most) > 0.0002 || math.Abs(r.Slack-most/0.02) > 1e-4 {
		t.Errorf("the port waits %v, perhaps %v times too long; want a hundredth, and %v", r.PauseReceived, r.Slack, most/0.02)
	}
}

// TestACounterAtItsTopShowsNothing: the waiting is what the counter reported before
// it reached its maximum, not a part of it.
func TestACounterAtItsTopShowsNothing(t *testing.T) {
	w := slowHCA(t, waitTicks, speed/8)
	w.report("port:leaf1/h7", waitTicks, half+4, grids, math.NaN())
	m, _, during := w.read()
	if r := during.Of[index(t, m, "port:leaf1/h7")]; !near(r.PauseReceived, 0.7) || r.Wait < 0.69 {
		t.Errorf("the port waits %v and stands %v, want 0.7", r.PauseReceived, r.Wait)
	}
}

// TestALoopLosesNothingToPortsThatSend: another port of one of its switches has a
// queue, but sends.
func TestALoopLosesNothingToPortsThatSend(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	for _, p := range []string{"spine0/l0", "leaf1/s0", "spine1/l1", "leaf0/s1"} {
		w.pauses("port:"+p, 1)
	}
	w.report("port:leaf1/h5", queue, half+1, grids, speed)
	w.sends("port:leaf1/h5", 0.9)
	_, then, during := w.read()
	b := fabric.Walk(during, then, nodes("h0", "h6"))
	if b.Total == 0 || b.Circling < 0.99*b.Total {
		t.Errorf("%v of %v circles", b.Circling, b.Total)
	}
}

// TestPauseLoopIsSeenGoingRound: four links that pause each other in a circle.
func TestAPauseLoopIsSeenGoingRound(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	for _, p := range []string{"spine0/l0", "leaf1/s0", "spine1/l1", "leaf0/s1"} { // that send pause
		w.pauses("port:"+p, 1)
	}
	for _, h := range []int{0, 1, 4, 5} {
		w.pauses(fmt.Sprintf("port:leaf%d/h%d", h/4, h), 1)
	}
	m, then, during := w.read()
	b := fabric.Walk(during, then, nodes("h0", "h1", "h4", "h5"))
	if b.Circling/b.Total < 0.9 {
		t.Fatalf("%v of %v circles", b.Circling, b.Total)
	}
	var sum float64
	for i, x := range b.Round {
		sum += x
		if x > 0 && !m.Between(i) {
			t.Errorf("%v is not on the loop, yet %v goes round there", m.Ends[i].Entity, x)
		}
	}
	if !near(sum, b.Circling) {
		t.Errorf("ends of the loop have %v of %v", sum, b.Circling)
	}
}

// TestCountsAreMeanRates checks the rates, and that counts without data are
// reported as such.
func TestCountsAreMeanRates(t *testing.T) {
	w := quiet(t, 2, 1, 4)
	w.report("port:leaf0/h0", "port_rx_crc_errors_total", half+1, grids, 0)
	w.report("port:leaf0/h0", "port_rx_crc_errors_total", half+1, half+5, 8)
	w.report("port:leaf0/h0", "port_up", half+1, grids, 1)
	w.report("port:leaf0/h0", "port_up", grids-4, grids, 0)
	m, then, during := w.read()
	i := index(t, m, "port:leaf0/h0")
	if v, ok := during.Rate(i, fabric.Damaged); !ok || !near(v, 2) {
		t.Errorf("damaged: %v, %v; want 2 a second", v, ok)
	}
	if _, ok := during.Rate(i, fabric.Uncorrectable); ok {
		t.Error("no end reported codewords")
	}
	if share, last, ok := during.Up(i); !ok || last || !near(share, 0.75) {
		t.Errorf("up %v of the time, at last %v, %v", share, last, ok)
	}
	if _, _, ok := then.Up(i); ok {
		t.Error("its state was not reported before")
	}
}

// TestAPortThatCountsOnlyWhatItReceivesIsReadByTheOtherEnd: what it sends is what the
// NIC that faces it receives. Its errors count, and one counter that two ends read shows
// no difference of two.
func TestAPortThatCountsOnlyWhatItReceivesIsReadByTheOtherEnd(t *testing.T) {
	w := build(t, 2, 1, 2)
	w.report("nic:h0/n0", txBytes, 1, grids, 0.5*speed)
	w.report("nic:h0/n0", rxBytes, 1, grids, 0.3*speed)
	w.report("nic:h0/n0", "roce_packet_seq_errors_total", 1, grids, 100)
	w.report("port:leaf0/h0", rxBytes, 1, grids, 0.5*speed)
	w.report("port:leaf0/h0", "port_rx_crc_errors_total", 1, grids, 2)
	m := fabric.Survey(w.graph, w)
	r := m.Read(w, grid, fabric.Span{From: at(0), To: at(grids)})
	i := index(t, m, "port:leaf0/h0")
	if x := r.Of[i]; x.Seen != grids || !near(x.Util, 0.3) || !near(x.RUtil, 0.5) {
		t.Errorf("seen in %d grids, sends %v, receives %v of its speed", x.Seen, x.Util, x.RUtil)
	}
	if v, ok := r.Rate(i, fabric.Damaged); !ok || !near(v, 2) {
		t.Errorf("damaged: %v, %v; want 2 a second", v, ok)
	}
	if l := r.Leak(i); l.Seen {
		t.Errorf("a leak by one counter: %+v", l)
	}
	if l := r.Leak(index(t, m, "nic:h0/n0")); !l.Seen || l.Share > 1e-9 {
		t.Errorf("by two counters: %+v", l)
	}
}

// TestANICIsReadByAPortOfSeveralPriorities: bytes are those of a whole port, so that its
// priorities need none of their own, and the NIC needs no priorities.
func TestANICIsReadByAPortOfSeveralPriorities(t *testing.T) {
	w := build(t, 2, 1, 2)
	w.report("port:leaf0/h0", txBytes, 1, grids, 0.5*speed)
	w.report("port:leaf0/h0", rxBytes, 1, grids, 0.3*speed)
	w.report("nic:h0/n0", rxBytes, 1, grids, 0.5*speed)
	w.lanes("port:leaf0/h0")
	m := fabric.Survey(w.graph, w)
	if len(m.Lanes(entity("port:leaf0/h0"))) != 2 {
		t.Fatal("the port has no priorities")
	}
	sent, ok := m.Sent(w, grid, fabric.Span{From: at(0), To: at(grids)}, index(t, m, "nic:h0/n0"))
	if !ok || !near(sent, 0.3*speed) {
		t.Errorf("it sends %v, %v; want %v", sent, ok, 0.3*speed)
	}
}

// TestMarksBelongToStandingTraffic distinguishes marks while there is a queue from
// those without.
func TestMarksBelongToStandingTraffic(t *testing.T) {
	w := quiet(t, 2, 1, 4)
	w.stands("port:leaf0/h0", 1)
	w.report("port:leaf0/h0", marked, half+1, half+5, 100) // in 5 of 20
	w.report("port:leaf0/h1", marked, half+1, grids, 40)
	m, _, during := w.read()
	stood, free := during.Of[index(t, m, "port:leaf0/h0")], during.Of[index(t, m, "port:leaf0/h1")]
	if stood.QueuedGrids != half || !near(stood.Unmarked, 0.75) || !near(stood.Marks, 25) || stood.MarkedFree != 0 {
		t.Errorf("under a queue: %+v", stood)
	}
	if free.QueuedGrids != 0 || !near(free.Marks, 40) || !near(free.MarkedFree, 40) {
		t.Errorf("without a queue: %+v", free)
	}
}

// across sends bursts of three seconds in every five over one link, where the clock
// of one end is off, and reads the leak: a share of all, and what is missing in a
// single second. Both counters are read at such an interval.
func across(t *testing.T, lost, offset, once float64, every telemetry.Duration) (busy, idle fabric.Leak) {
	t.Helper()
	w := build(t, 2, 1, 2)
	w.every = every
	for k := 1; k <= grids; k++ {
		rate := func(at float64) float64 { // bytes sent until then
			steps := math.Floor(at / 5)
			return 0.9 * speed * (3*steps + min(3, at-5*steps))
		}
		sent := rate(float64(k)) - rate(float64(k-1))
		came := (1 - lost) * (rate(float64(k)+10-offset) - rate(float64(k-1)+10-offset))
		if k == 12 {
			came -= once
		}
		w.report("nic:h0/n0", txBytes, k, k, sent)
		w.report("port:leaf0/h0", rxBytes, k, k, came)
		for _, e := range []string{"port:leaf0/h0", "nic:h1/n0", "port:leaf1/h1"} {
			w.report(e, txBytes, k, k, 0)
		}
		w.report("nic:h0/n0", "roce_packet_seq_errors_total", k, k, 100)
	}
	m := fabric.Survey(w.graph, w)
	r := m.Read(w, grid, fabric.Span{From: at(0), To: at(grids)})
	return r.Leak(index(t, m, "nic:h0/n0")), r.Leak(index(t, m, "nic:h1/n0"))
}

// TestALeakIsTheSlope finds what a link loses although the clocks of its two ends
// are up to a second apart, and nothing where nothing is lost.
func TestALeakIsTheSlope(t *testing.T) {
	for _, lost := range []float64{0, 0.002, 0.01, 0.1} {
		for _, offset := range []float64{0, 0.3, -0.7, 1} {
			l, idle := across(t, lost, offset, 0, grid)
			if !l.Seen || l.Share > lost+1e-9 || l.Share < lost-4*l.Error-1e-9 || l.Error > 2e-3 {
				t.Errorf("lost %v at an offset of %v s: got %+v", lost, offset, l)
			}
			if idle.Seen {
				t.Errorf("a leak of a link that carried nothing: %+v", idle)
			}
		}
	}
}

// TestOneJumpIsNoLeak: a counter that misses a second once loses nothing since.
func TestOneJumpIsNoLeak(t *testing.T) {
	for _, once := range []float64{0.02 * speed, 0.3 * speed, 0.9 * speed} {
		if l, _ := across(t, 0, 0.3, once, grid); !l.Seen || l.Share > 1e-4 {
			t.Errorf("%.2g bytes once: got %+v", once, l)
		}
	}
}

// TestFewReadingsShowNoLeak: what is spread over the seconds between two readings are
// not so many comparisons.
func TestFewReadingsShowNoLeak(t *testing.T) {
	dense, _ := across(t, 0.01, 0.3, 0, grid)
	if spread, _ := across(t, 0.01, 0.3, 0, 4*grid); !spread.Seen || spread.Error <= dense.Error {
		t.Errorf("read each fourth second: %+v, each second: %+v", spread, dense)
	}
	if few, _ := across(t, 0.01, 0.3, 0, 10*grid); few.Seen {
		t.Errorf("four readings: %+v", few)
	}
}

// TestCompanionsShowWhatTheInstantsMiss: a host's counters are read each second and its
// switch's each fourth, between which the traffic varies. What a link of several loses shows
// against the others, whose bytes are missed alike; of one alone it does not.
func TestCompanionsShowWhatTheInstantsMiss(t *testing.T) {
	for _, links := range []int{1, 4} {
		w := build(t, 2, 1, 2)
		w.every = 4 * grid
		for i := 1; i < links; i++ {
			w.cable(t, fmt.Sprintf("nic:h0/x%d", i), fmt.Sprintf("port:leaf0/x%d", i))
		}
		w.graph.Advance(at(0))
		for k := 1; k <= grids; k++ {
			busy := func(k int) float64 { return speed * (0.5 + 0.3*math.Sin(float64(k*k))) }
			var came float64 // in the four seconds before the last reading
			for j := range 4 {
				came += busy((k-1)/4*4+j-2) / 4
			}
			for i := range links {
				nic, port, lost := fmt.Sprintf("nic:h0/x%d", i), fmt.Sprintf("port:leaf0/x%d", i), 0.0
				if i == 0 {
					nic, port, lost = "nic:h0/n0", "port:leaf0/h0", 0.01
				}
				w.report(nic, txBytes, k, k, busy(k))
				w.report(port, rxBytes, k, k, (1-lost)*came)
			}
			w.report("nic:h0/n0", "roce_packet_seq_errors_total", k, k, 100)
		}
		m := fabric.Survey(w.graph, w)
		r := m.Read(w, grid, fabric.Span{From: at(0), To: at(grids)})
		leak := r.Leak(index(t, m, "nic:h0/n0"))
		if seen := leak.Share > 0.009 && leak.Share < 0.0101; seen != (links > 1) {
			t.Errorf("%d links: %+v", links, leak)
		}
		if links > 1 {
			if l := r.Leak(index(t, m, "nic:h0/x2")); l.Share > 1e-3 {
				t.Errorf("one that loses nothing: %+v", l)
			}
		}
	}
}

func TestNobodyLooksForLeaksWhereNothingWasSentAgain(t *testing.T) {
	w := quiet(t, 2, 1, 2)
	m, _, during := w.read()
	for i := range m.Ends {
		if during.Leak(i).Seen {
			t.Errorf("%s: a leak of a network that lost nothing", m.Ends[i].Entity)
		}
	}
}

func TestSwitchesAndPlanesAreGroups(t *testing.T) {
	w := build(t, 2, 1, 2)
	for _, e := range []string{"nic:h0/n0", "switch:leaf0"} {
		w.graph.Add(&telemetry.Edge{From: entity(e), To: entity("plane:a"), Relation: telemetry.Member, Source: "file"})
	}
	w.graph.Advance(at(1))
	m := fabric.Survey(w.graph, w)
	roles := map[string]string{}
	for _, g := range m.Switches {
		roles[g.Entity.String()] = fmt.Sprintf("%s %d", g.Role, len(g.Ends))
	}
	if want := map[string]string{"switch:leaf0": "plane:a access 2", "switch:leaf1": "access 2", "switch:spine0": " 2"}; fmt.Sprint(roles) != fmt.Sprint(want) {
		t.Errorf("switches %v, want %v", roles, want)
	}
	if len(m.Planes) != 1 || len(m.Planes[0].Ends) != 3 {
		t.Errorf("planes %+v", m.Planes)
	}
}

// TestFewTicksAreNoWaiting: a port that counts a thousand ticks a second waits for less than a
// thousandth of the time, however long no other port is blocked: no tick is longer than a microsecond.
func TestFewTicksAreNoWaiting(t *testing.T) {
	w := infiniBand(t, waitTicks)
	w.report("port:leaf1/h7", waitTicks, half+1, grids, 1000)
	m, _, during := w.readBeside()
	if r := during.Of[index(t, m, "port:leaf1/h7")]; r.PauseReceived <= 0 || r.PauseReceived > 1.001e-3 {
		t.Errorf("it waits %v of the time, want at most a thousandth", r.PauseReceived)
	}
}
