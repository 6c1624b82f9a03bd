package window

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// slowMeter is a source of the slow class, and the frames on their way from it.
type slowMeter struct {
	*site
	schema *telemetry.Schema
	due    map[float64][]telemetry.EncodedFrame // by the tick before which they come
}

func newSlowMeter(t testing.TB) *slowMeter {
	m := &slowMeter{site: newSite(t, Config{}), due: map[float64][]telemetry.EncodedFrame{}}
	m.schema = m.site.schema("bmc", telemetry.Slow, uints(temp), ether1)
	m.schema.Cadence = 5 * second
	if o := m.w.AddSchema(m.schema); o != Accepted {
		t.Fatal(o)
	}
	return m
}

// tell lets a value of a time be received at another, and come in the log at a
// third.
func (m *slowMeter) tell(at, received, comes float64, v uint64) {
	m.t.Helper()
	m.seq++
	f := telemetry.Frame{Sequence: m.seq, Words: []uint64{v}, Instants: []telemetry.Instant{{Source: sec(at), Received: sec(received)}}}
	b, err := m.enc.AppendFrame(nil, m.schema, &f)
	if err != nil {
		m.t.Fatal(err)
	}
	tick := float64(int(comes) + 1)
	m.due[tick] = append(m.due[tick], b)
}

// tick takes what has come by then and closes what is due.
func (m *slowMeter) tick(now float64) {
	for _, f := range m.due[now] {
		m.w.AddFrame(f)
	}
	m.w.Close(telemetry.Slow, sec(now).Add(-m.w.cfg.Lateness[telemetry.Slow]), Serial)
	m.w.CatchUp(telemetry.Slow, Serial)
}

func (m *slowMeter) wantWait(now float64, d telemetry.Duration) {
	m.t.Helper()
	if got := m.w.Wait(m.slot(ether1, temp)); got != d {
		m.t.Errorf("at %v it waits for %v, want %v", now, got, d)
	}
}

// TestAPromptSourceOfASlowClassIsJudgedPromptly: what is received half a second after
// it was measured is seen when the prompt class's is.
func TestAPromptSourceOfASlowClassIsJudgedPromptly(t *testing.T) {
	m := newSlowMeter(t)
	for at := 0.5; at < 100; at += 5 {
		v := uint64(20)
		if at > 50 {
			v = 30
		}
		m.tell(at, at+0.2, at+0.2, v)
	}
	seen := 0.0
	for now := 0.0; now < 100; now++ {
		m.tick(now)
		if v, f := m.w.Value(m.slot(ether1, temp)); v == 30 && seen == 0 {
			if seen = now; f != Fresh {
				t.Errorf("it is %v", f)
			}
		}
	}
	// Measured at 50.5; its grid ends at 51 and waits for the prompt class's 2 s.
	if seen != 53 {
		t.Errorf("seen at %v, want 53", seen)
	}
	if n := m.w.Counts().LateSamples; n != 0 {
		t.Errorf("%d late samples", n)
	}
}

// TestASourceThatNeedsLongIsWaitedFor: the first sample comes too late for the prompt
// class; those after it count.
func TestASourceThatNeedsLongIsWaitedFor(t *testing.T) {
	for _, stated := range []bool{true, false} {
		m := newSlowMeter(t)
		for at := 0.5; at < 200; at += 5 {
			received := at
			if stated {
				received = at + 20
			}
			m.tell(at, received, at+20.2, uint64(at)) // else it was held up on its way
		}
		for now := 0.0; now < 200; now++ {
			m.tick(now)
		}
		if c := m.w.Counts(); c.LateSamples == 0 || c.LateSamples > 5 || c.Samples < 30 {
			t.Errorf("%d samples late, %d judged", c.LateSamples, c.Samples)
		}
		if got := m.w.Wait(m.slot(ether1, temp)); got < 20*second || got > 21*second {
			t.Errorf("it waits for %v", got)
		}
	}
}

// TestNoSourceWaitsLongerThanItsClass: what needs longer is late.
func TestNoSourceWaitsLongerThanItsClass(t *testing.T) {
	m := newSlowMeter(t)
	for at := 0.5; at < 300; at += 5 {
		m.tell(at, at+100, at+100, uint64(at))
	}
	for now := 0.0; now < 300; now++ {
		m.tick(now)
	}
	m.wantWait(300, 60*second)
}

// TestAWaitEnds: a source that was slow once is prompt again when that is long over,
// and no grid of it is passed over.
func TestAWaitEnds(t *testing.T) {
	m := newSlowMeter(t)
	for at := 0.5; at < 900; at += 5 {
		comes := at + 0.2
		if at > 100 {
			comes = max(comes, 130) // its collector was held up
		}
		m.tell(at, comes, comes, uint64(at))
	}
	before := telemetry.Time(0)
	for now := 0.0; now < 900; now++ {
		m.tick(now)
		closed, _ := m.w.ClosedOf(m.slot(ether1, temp))
		if before > 0 && closed.Sub(before) > 2*second || closed < before {
			t.Fatalf("at %v from %v to %v", now, before, closed)
		}
		before = closed
		if now == 200 {
			m.wantWait(now, 31*second)
		}
	}
	m.wantWait(900, 2*second)
	if want := sec(899 - 2); before != want {
		t.Errorf("closed up to %v, want %v", before, want)
	}
	if c := m.w.Counts(); c.LateSamples > 6 || c.Samples+c.LateSamples < 175 {
		t.Errorf("%d samples judged, %d late", c.Samples, c.LateSamples)
	}
}

// TestI2ArrivalInsideAWaitDoesNotMatter: once it is known how long a source needs,
// frames may come at any moment before their grid is closed.
func TestI2ArrivalInsideAWaitDoesNotMatter(t *testing.T) {
	want := transcriptOfWaits(t, nil, nil)
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		same(t, transcriptOfWaits(t, r, nil), want)
	}
}

// TestI5AWaitIsState: what is known of how long a source needs is in the snapshot.
func TestI5AWaitIsState(t *testing.T) {
	want := transcriptOfWaits(t, nil, nil)
	got := transcriptOfWaits(t, nil, func(w *Window) *Window {
		next := New(w.cfg)
		c := snapshot.NewReader(taken(w))
		next.Snapshot(c)
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
		return next
	})
	same(t, got, want)
}

// transcriptOfWaits lists what can be queried of a source that is slow for the
// first minute. From then on its frames come in time, or, where r is given,
// anywhere between their time and the end of the shortest wait.
func transcriptOfWaits(t *testing.T, r *rand.Rand, hook func(*Window) *Window) string {
	t.Helper()
	m := newSlowMeter(t)
	draw := rand.New(rand.NewPCG(9, 9))
	for at := 0.5; at < 800; at += 5 {
		d := 9.0
		if at > 60 {
			d = 8 * draw.Float64()
		}
		comes := at + d
		if r != nil && at > 60 {
			comes = at + 8*r.Float64()
		}
		m.tell(at, at+d, comes, uint64(at))
	}
	var out strings.Builder
	for now := 0.0; now < 800; now++ {
		m.tick(now)
		slot := m.slot(ether1, temp)
		v, f := m.w.Value(slot)
		closed, _ := m.w.ClosedOf(slot)
		fmt.Fprintln(&out, now, v, f, closed, m.w.Wait(slot))
		if hook != nil {
			m.w = hook(m.w)
		}
	}
	return out.String()
}
