package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// oracle is every value that a window over the whole log gives one series.
func oracle(t *testing.T, p *player, s telemetry.Series) (out []point) {
	w := window.New(window.Config{})
	lateness := telemetry.DefaultLateness()
	var at telemetry.Time
	for i := range p.records {
		switch r := &p.records[i]; r.Kind {
		case telemetry.SchemaRecord:
			w.AddSchema(r.Schema)
		case telemetry.FrameRecord:
			w.AddFrame(r.Frame)
		case telemetry.TickRecord:
			if at == 0 {
				at = r.Tick.At.Add(-1e9)
			}
			for at < r.Tick.At {
				at = at.Add(1e9)
				closed := w.Close(telemetry.Prompt, at.Add(-lateness[telemetry.Prompt]), window.Serial)
				for _, x := range closed.Steps {
					if x.Series == s {
						out = append(out, point{at: x.At, v: x.Value})
					}
				}
				slot, ok := w.Slot(s)
				if !ok || w.Metric(slot).PerStep {
					continue
				}
				v, flag := w.Value(slot)
				if n := len(out); flag == window.Held || math.IsNaN(float64(v)) && n > 0 && math.IsNaN(out[n-1].v) {
					continue
				}
				out = append(out, point{at: at.Add(-lateness[telemetry.Prompt]), v: float64(v)})
			}
		}
	}
	return out
}

// TestCurvesAreTheEnginesValues: every point of a picture is the value of that grid
// in a window that has seen the whole log, and no point is missing.
func TestCurvesAreTheEnginesValues(t *testing.T) {
	for _, name := range []string{"slownic-2", "ecmp-2", "ctlcompute-3"} {
		t.Run(name, func(t *testing.T) {
			p := record(t, name)
			p.until(0)
			in := p.incident()
			pic := p.picture(p.recorder(Config{}), in, 0)
			for _, c := range pic.Curves {
				var want []string
				for _, x := range oracle(t, p, telemetry.Series{Entity: c.Entity, Metric: c.Metric}) {
					if x.at >= pic.From && x.at <= pic.To {
						want = append(want, fmt.Sprint(int64(x.at)/1e6, x.v))
					}
				}
				for len(want) > 0 && strings.HasSuffix(want[0], "NaN") {
					want = want[1:]
				}
				var got []string
				for i := range c.Times {
					got = append(got, fmt.Sprint(c.Times[i], c.Values[i]))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s %s:\n got %d %.300v\nwant %d %.300v", c.Entity, c.Metric, len(got), got, len(want), want)
				}
			}
		})
	}
}

// TestASlowClassIsDrawnWhenItWasMeasured: a source whose class may be a minute late
// and whose samples are not is drawn soon, and each of its values at its own time.
func TestASlowClassIsDrawnWhenItWasMeasured(t *testing.T) {
	feed := telemetry.Entity{Kind: telemetry.UPS, Name: "hall0/a"}
	schema := &telemetry.Schema{Source: telemetry.Source{Collector: "redfish", Target: "bmc"}, Class: telemetry.Slow, Cadence: 5e9,
		Entities: []telemetry.Entity{feed}, Columns: []telemetry.Column{{Metric: "feed_up", Type: telemetry.Uint}}}
	p := &player{t: t, log: &memory{first: 1, asked: map[string]bool{}}}
	p.log.add("n1", &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: schema})
	var enc telemetry.Encoder
	const lost = telemetry.Time(400e9) // when the feed was lost
	for at := telemetry.Time(100e9); at < 420e9; at += 1e9 {
		if at%5e9 == 0 {
			up := uint64(1)
			if at >= lost {
				up = 0
			}
			f := telemetry.Frame{Sequence: uint64(at), Words: []uint64{up}, Instants: []telemetry.Instant{{Source: at, Received: at + 1e8}}}
			b, err := enc.AppendFrame(nil, schema, &f)
			if err != nil {
				t.Fatal(err)
			}
			p.log.add("n1", &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
		}
		p.log.add("", &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at + 5e8}})
	}
	in := &explain.Incident{ID: "inc-1", Onset: telemetry.Interval{Earliest: lost, Latest: lost}, Root: explain.Root{Entity: feed},
		Claims: []explain.Claim{{Entity: feed, Metric: "feed_up"}}}
	c := p.picture(p.recorder(Config{}), in, 0).Curves[0]
	first := slices.Index(c.Values, 0)
	if first < 0 {
		t.Fatalf("the loss is not drawn: %v", c.Values)
	}
	if at := telemetry.Time(c.Times[first] * 1e6); at != lost {
		t.Errorf("lost at %s, drawn at %s", lost, at)
	}
}

// TestAPictureShowsTheTrouble in words.
func TestAPictureShowsTheTrouble(t *testing.T) {
	p := record(t, "slownic-2")
	p.until(0)
	in := p.incident()
	pic := p.picture(p.recorder(Config{}), in, 0)
	if pic.From != in.Onset.Earliest.Add(-lead) || pic.To != in.Resolved.Add(trail) || pic.Tick == nil || pic.Note != "" {
		t.Errorf("from %v to %v, tick %v, note %q", pic.From, pic.To, pic.Tick, pic.Note)
	}
	var b strings.Builder
	for _, c := range pic.Curves {
		before, during := mean(c, pic.From, in.Onset.Earliest), mean(c, in.Onset.Latest, *in.Resolved)
		fmt.Fprintf(&b, "%-7s %s %s: %.3g → %.3g %s\n", c.Role, c.Entity, c.Metric, before, during, c.Unit)
	}
	const want = `effect  job:train job_step_seconds: 3.33 → 5.91 s
root    nic:h9/nic0 port_pfc_tx_pause_seconds_total: 0 → 0.404 s/s
chain   port:leaf1/p2 port_pfc_rx_pause_seconds_total: 0 → 0.403 s/s
witness nic:h9/nic0 port_tx_bytes_total: 6.31e+09 → 3.63e+09 B/s
witness nic:h9/nic0 port_rx_bytes_total: 6.3e+09 → 3.6e+09 B/s
witness nic:h9/nic0 port_pfc_rx_pause_seconds_total: 0 → 0 s/s
witness nic:h9/nic0 roce_ecn_marked_packets_total: 0 → 4.17e+05 packets/s
witness nic:h9/nic0 roce_cnp_sent_total: 0 → 8.91e+04 packets/s
witness nic:h9/nic0 roce_cnp_handled_total: 0 → 0 packets/s
`
	if b.String() != want {
		t.Errorf("got:\n%s", b.String())
	}
	for c := range p.log.asked {
		if !slices.Contains([]string{"node:h9", "switch:leaf1", "job:train"}, c) {
			t.Errorf("%s was read, which states nothing of it", c)
		}
	}
}

func mean(c Curve, from, to telemetry.Time) float64 {
	sum, n := 0.0, 0
	for i, ms := range c.Times {
		if at := telemetry.Time(ms * 1e6); at >= from && at <= to && !math.IsNaN(c.Values[i]) {
			sum += c.Values[i]
			n++
		}
	}
	return sum / float64(n)
}

// TestSinceGivesEveryPointOnce: a page that asks again and again with the tick
// of the answer before has in the end what one question gives.
func TestSinceGivesEveryPointOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := record(t, "slownic-2")
		p.until(158e9)
		r := p.recorder(Config{})
		in := p.incident()
		var since telemetry.Time
		got := map[string][]string{}
		rounds := 0
		for at := telemetry.Time(158e9); p.next < len(p.records); at += 7e9 {
			p.until(at)
			<-time.After(time.Second)
			now := p.incident()
			if keyOf(now, seriesOf(now)) != keyOf(in, seriesOf(in)) {
				in, since = now, 0 // another chain: the page draws anew
				got = map[string][]string{}
			}
			in.Resolved = now.Resolved
			pic := p.picture(r, in, since)
			if pic.Tick != nil {
				since = *pic.Tick
			}
			for _, c := range pic.Curves {
				for i := range c.Times {
					k := c.Entity.String() + " " + string(c.Metric)
					got[k] = append(got[k], fmt.Sprint(c.Times[i], c.Values[i]))
				}
			}
			rounds++
		}
		whole := p.picture(p.recorder(Config{}), p.incident(), 0)
		for _, c := range whole.Curves {
			var want []string
			for i := range c.Times {
				want = append(want, fmt.Sprint(c.Times[i], c.Values[i]))
			}
			if k := c.Entity.String() + " " + string(c.Metric); !slices.Equal(got[k], want) {
				t.Errorf("%s: %d points in %d rounds, want %d", k, len(got[k]), rounds, len(want))
			}
		}
		if rounds < 10 {
			t.Errorf("%d rounds prove little", rounds)
		}
	})
}

// TestAskingAgainCostsWhatIsNew, and nothing once all is drawn.
func TestAskingAgainCostsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := record(t, "slownic-2")
		p.until(200e9)
		r := p.recorder(Config{})
		in := p.incident()
		p.picture(r, in, 0)
		first := p.log.frames
		<-time.After(2 * time.Second)
		p.picture(r, in, 0)
		if again := p.log.frames - first; again > 20 {
			t.Errorf("%d frames read again, of %d", again, first)
		}
		p.until(0)
		in = p.incident()
		<-time.After(2 * time.Second)
		p.picture(r, in, 0)
		read := p.log.frames
		<-time.After(time.Hour)
		p.picture(r, in, 0)
		if p.log.frames != read {
			t.Errorf("%d frames read for a picture that was whole", p.log.frames-read)
		}
	})
}

func TestWhatTheLogHasForgotten(t *testing.T) {
	p := record(t, "slownic-2")
	p.until(0)
	in := p.incident()
	r := p.recorder(Config{})
	end := uint64(len(p.log.entries))
	// The schemas are stated again, and the ticks go on: only the past is gone.
	for i := range p.records {
		if r := &p.records[i]; r.Kind == telemetry.SchemaRecord {
			p.log.add(p.collector(r), r)
		}
	}
	p.log.first = end / 2
	if pic := p.picture(r, in, 0); !strings.HasPrefix(pic.Note, "the log begins at 1970-01-01T00:0") || len(pic.Curves[0].Times) == 0 {
		t.Errorf("half of it: note %q", pic.Note)
	}
	for at := telemetry.Time(400e9); at < 420e9; at += 1e9 {
		p.log.add("", &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}})
	}
	p.log.first = end + 1
	if _, err := p.recorder(Config{}).Curves(t.Context(), in, 0); !errors.Is(err, ErrForgotten) {
		t.Errorf("all of it: %v", err)
	}
}

// TestALogMadeAnewIsNoticed: positions that fall mean another log.
func TestALogMadeAnewIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := record(t, "slownic-2")
		p.until(0)
		in := p.incident()
		r := p.recorder(Config{})
		whole := p.picture(r, in, 0)
		p.log.mu.Lock()
		p.log.entries = nil
		p.log.mu.Unlock()
		p.rewind()
		p.until(170e9)
		in = p.incident()
		<-time.After(2 * time.Second)
		if pic := p.picture(r, in, 0); len(pic.Curves[0].Times) >= len(whole.Curves[0].Times) || *pic.Tick != 170e9 {
			t.Errorf("%d points up to %v, as many as before", len(pic.Curves[0].Times), pic.Tick)
		}
	})
}

func TestBusyIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := record(t, "slownic-2")
		p.until(0)
		in := p.incident()
		r := p.recorder(Config{Concurrent: 1})
		p.log.block = make(chan struct{})
		done := make(chan error, 1)
		go func() {
			_, err := r.Curves(t.Context(), in, 0)
			done <- err
		}()
		synctest.Wait()
		other := *in
		other.ID = "inc-other"
		if _, err := r.Curves(t.Context(), &other, 0); !errors.Is(err, ErrBusy) {
			t.Errorf("the second: %v", err)
		}
		if _, err := r.Curves(t.Context(), in, 0); !errors.Is(err, ErrBusy) {
			t.Errorf("the same again: %v", err)
		}
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that waits for ever: %v", err)
		}
		p.log.mu.Lock()
		p.log.block = nil
		p.log.mu.Unlock()
		if pic := p.picture(r, in, 0); len(pic.Curves[0].Times) == 0 {
			t.Error("nothing was drawn after that")
		}
	})
}

func TestTheOldestPictureMakesRoom(t *testing.T) {
	r := (&player{t: t, log: &memory{first: 1}}).recorder(Config{Kept: 2})
	a := r.keep("a")
	r.keep("b")
	if r.keep("a") != a {
		t.Error("a was dropped")
	}
	b := r.keep("b")
	r.keep("c")
	if r.keep("b") != b || r.keep("a") == a {
		t.Error("want a dropped, which was asked for longest ago")
	}
}

func TestThinKeepsExtremesAndGaps(t *testing.T) {
	var ps points
	for i := range 100_000 {
		v := math.Sin(float64(i) / 1000)
		switch {
		case i == 31_234:
			v = 50
		case i == 77_777:
			v = -50
		case i >= 50_000 && i < 50_100:
			v = math.NaN()
		}
		ps.add(point{at: telemetry.Time(i * 1e9), seen: telemetry.Time(i*1e9 + 2e9), v: v})
	}
	if len(ps.list) > maxKept {
		t.Errorf("%d points are kept", len(ps.list))
	}
	got, were := ps.since(0, 2000)
	if len(got) > 2000 || len(got) < 1000 || were != 100_000-99 {
		t.Errorf("%d points of %d", len(got), were)
	}
	high, low, gap := false, false, false
	for i, p := range got {
		high, low, gap = high || p.v == 50, low || p.v == -50, gap || math.IsNaN(p.v)
		if i > 0 && p.at <= got[i-1].at {
			t.Fatalf("point %d at %v after %v", i, p.at, got[i-1].at)
		}
	}
	if !high || !low || !gap {
		t.Errorf("lost: high %v, low %v, gap %v", high, low, gap)
	}
	if few, were := ps.since(99_990e9, 2000); len(few) == 0 || len(few) > 12 || were != 0 {
		t.Errorf("the newest: %d of %d", len(few), were)
	}
}

func TestValuesAsJSON(t *testing.T) {
	in := Values{0, 0.1, float64(float32(0.1)), math.NaN(), 4e9, 1e-9, -2.5}
	b, err := json.Marshal(in)
	if want := `[0,0.1,0.1,null,4e+09,1e-09,-2.5]`; err != nil || string(b) != want {
		t.Errorf("%s, want %s: %v", b, want, err)
	}
}

// TestSeriesOfClaimsFirst: whatever an incident claims, the series that show it
// are the first of its curves.
func TestSeriesOfClaimsFirst(t *testing.T) {
	p := record(t, "slownic-2")
	p.until(165e9) // when the root is named
	in := p.incident()
	if len(in.Claims) < 2 {
		t.Fatalf("%d claims", len(in.Claims))
	}
	slices.Reverse(in.Claims)
	for i, w := range seriesOf(in)[:len(in.Claims)] {
		if c := in.Claims[i]; w.series.Entity != c.Entity || w.series.Metric != c.Metric {
			t.Errorf("curve %d is %s of %s, want %s of %s", i, w.series.Metric, w.series.Entity, c.Metric, c.Entity)
		}
	}
}
