package window

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestLateSamplesKeepTheIncreaseAndAreNotJudged(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal, temp), ether1)
	s.say(p, 0, 0, 5)
	s.say(p, 1, 100, 5)
	s.close(4)
	if o := s.w.AddFrame(s.frame(p, 3, 500, 9)); o != Late {
		t.Fatalf("a late frame is %v", o)
	}
	s.close(5)
	s.wantAt(ether1, bytesTotal, 3, 200)
	s.wantAt(ether1, temp, 3, 9)
	s.want(ether1, temp, 9, Held)
	s.want(ether1, bytesTotal, 200, Held)
	s.say(p, 6, 800, 6)
	s.close(6)
	s.want(ether1, bytesTotal, 100, Fresh)
	if c := s.w.Counts(); c.LateSamples != 2 {
		t.Errorf("%d late samples, want 2", c.LateSamples)
	}
}

func TestALateSampleOlderThanTheLastChangesNoCounter(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal, temp), ether1)
	s.say(p, 0, 0, 5)
	s.say(p, 4, 400, 5)
	s.close(5)
	s.w.AddFrame(s.frame(p, 2, 7, 9))
	s.say(p, 6, 600, 5)
	s.close(6)
	s.want(ether1, bytesTotal, 100, Fresh)
	s.wantAt(ether1, bytesTotal, 2, 100)
	s.wantAt(ether1, temp, 2, 9) // nothing was known of that grid
	s.wantAt(ether1, temp, 4, 5)
	s.w.AddFrame(s.frame(p, 2, 7, 11))
	s.close(7)
	s.wantAt(ether1, temp, 2, 9) // now something is
}

func TestOutcomes(t *testing.T) {
	s := newSite(t, Config{})
	p := s.schema("leaf0", telemetry.Prompt, uints(temp), ether1)
	f := s.frame(p, 1, 5)
	outcome := func(what string, got, want Outcome) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	outcome("a frame before its schema", s.w.AddFrame(f), UnknownSchema)
	outcome("its repeat", s.w.AddFrame(f), Duplicate)
	outcome("the schema", s.w.AddSchema(p), Accepted)
	outcome("the schema again", s.w.AddSchema(p), Duplicate)
	outcome("the frame again", s.w.AddFrame(f), Duplicate)
	outcome("garbage", s.w.AddFrame([]byte("garbage")), Corrupt)
	outcome("no schema", s.w.AddSchema(nil), Corrupt)
	s.close(1)
	s.want(ether1, temp, 5, Fresh)
	outcome("the frame after its grid", s.w.AddFrame(f), Late)
	outcome("a frame ten minutes ahead", s.w.AddFrame(s.frame(p, 601, 5)), Future)
	outcome("a frame a minute ahead", s.w.AddFrame(s.frame(p, 61, 5)), Accepted)
	if got := s.w.Counts().Frames; got[Accepted] != 2 || got[Duplicate] != 2 || got[UnknownSchema] != 1 || got[Late] != 1 || got[Future] != 1 || got[Corrupt] != 1 {
		t.Errorf("counted %v", got)
	}
}

func TestAFrameWithoutASchemaExpires(t *testing.T) {
	s := newSite(t, Config{})
	p := s.schema("leaf0", telemetry.Prompt, uints(temp), ether1)
	s.w.AddFrame(s.frame(p, 1, 5))
	for class := range telemetry.LatenessClasses {
		s.w.Close(class, sec(0), Serial)
	}
	if s.w.pending == 0 {
		t.Fatal("it does not wait")
	}
	for class := range telemetry.LatenessClasses {
		s.w.Close(class, sec(1), Serial)
	}
	if s.w.pending != 0 || s.w.Counts().Expired != 1 {
		t.Errorf("%d bytes wait, %d expired", s.w.pending, s.w.Counts().Expired)
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	s := newSite(t, Config{MaxPending: 1000, MaxSeries: 2})
	p := s.add("leaf0", uints(temp), ether1)
	full := 0
	for i := range 100 {
		if s.w.AddFrame(s.frame(p, float64(i), 5)) == Full {
			full++
		}
	}
	if full == 0 || full > 90 || s.w.pending > 1000 {
		t.Errorf("%d of 100 refused, %d bytes wait", full, s.w.pending)
	}
	s.close(0)
	s.close(100)
	if s.w.pending != 0 {
		t.Errorf("%d bytes wait after all grids are closed", s.w.pending)
	}
	if o := s.w.AddSchema(s.schema("leaf1", telemetry.Prompt, uints(temp, up), ether1)); o != TooMany {
		t.Errorf("the third series is %v", o)
	}
}

func TestContradictionsAreSettledTheSameWay(t *testing.T) {
	for _, order := range [][]uint64{{5, 9}, {9, 5}, {9, 5, 9}, {gap, 9, 5}, {5, absent, 9}} {
		s := newSite(t, Config{})
		p := s.add("leaf0", uints(temp), ether1)
		for _, v := range order {
			s.w.AddFrame(s.frame(p, 1, v))
		}
		s.close(1)
		s.want(ether1, temp, 9, Fresh)
		if got := s.w.Counts().Contradictions; got != 1 {
			t.Errorf("%v: %d contradictions, want 1", order, got)
		}
	}
}

func TestANewSchemaOfASourceKeepsItsCounters(t *testing.T) {
	s := newSite(t, Config{})
	old := s.add("leaf0", uints(bytesTotal), ether1)
	s.say(old, 0, 100)
	s.close(0)
	slot := s.slot(ether1, bytesTotal)
	cols := []telemetry.Column{{Metric: temp, Type: telemetry.Uint}, {Metric: bytesTotal, Type: telemetry.Decimal, Exp: 1}}
	p := s.add("leaf0", cols, ether2, ether1)
	s.say(p, 1, 30, 31, 0, 2000)
	s.close(1)
	if got := s.slot(ether1, bytesTotal); got != slot {
		t.Errorf("the slot moved from %d to %d", slot, got)
	}
	s.want(ether1, bytesTotal, 100, Fresh)
	s.want(ether1, temp, 31, Fresh)
	s.want(ether2, temp, 30, Fresh)
	s.want(ether2, bytesTotal, nan, First)
	s.say(old, 2, 350)
	s.close(2)
	s.want(ether1, bytesTotal, 150, Fresh)
	s.want(ether2, temp, 30, Held)
}

func TestTheClockOfASource(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(temp), ether1)
	slot, ok := s.w.Slot(telemetry.Series{Entity: ether1, Metric: temp})
	if before, after := s.w.ClockError(slot); !ok || before != 0 || after != 0 {
		t.Errorf("error of an unknown clock is %v, %v", before, after)
	}
	s.close(0)
	s.delays(p, 0.2, 0.21, 0.2, 7, 0.19, 0.2, 0.2)
	if before, after := s.w.ClockError(slot); before != 0 || after != second/5 {
		t.Errorf("error is %v, %v, want none before and 200 ms after", before, after)
	}
}

// What is received before its own time happened before it.
func TestAClockThatIsAhead(t *testing.T) {
	s := newSite(t, Config{Ahead: 10 * second})
	p := s.add("leaf0", uints(temp), ether1)
	slot, _ := s.w.Slot(telemetry.Series{Entity: ether1, Metric: temp})
	s.close(0)
	s.delays(p, -3, -3, -2, -3, -3)
	if before, after := s.w.ClockError(slot); before != 3*second || after != 0 {
		t.Errorf("error is %v, %v, want 3 s before and none after", before, after)
	}
}

// delays has a source report once a second, received so many seconds after its own
// time.
func (s *site) delays(p *telemetry.Schema, late ...float64) {
	s.t.Helper()
	for i, d := range late {
		at := float64(i + 1)
		f := telemetry.Frame{Instants: []telemetry.Instant{{Source: sec(at), Received: sec(at + d)}}, Words: []uint64{5}}
		b, err := s.enc.AppendFrame(nil, p, &f)
		if err != nil {
			s.t.Fatal(err)
		}
		s.w.AddFrame(b)
		s.w.AddFrame(b)
	}
	s.close(float64(len(late)))
}

// story is a random site: its schemas, the frames of a minute and the content of
// each. Some counters reset, some samples are lost, some sources are slow.
type story struct {
	cfg     Config
	schemas []*telemetry.Schema
	frames  []telemetry.EncodedFrame
	times   []float64 // of the last instant of each frame
	until   float64
}

func tell(t testing.TB, seed uint64) *story {
	r := rand.New(rand.NewPCG(seed, 1))
	s := newSite(t, Config{})
	st := &story{until: 40}
	cols := append(uints(bytesTotal, drops32, waitTicks, temp, up), telemetry.Column{Metric: pauseSecs, Type: telemetry.Decimal, Exp: 6}, telemetry.Column{Metric: stepSecs, Type: telemetry.Decimal, Exp: 3})
	for n := range 5 {
		es := []telemetry.Entity{{Kind: telemetry.Port, Name: fmt.Sprintf("sw%d/a", n)}, {Kind: telemetry.Port, Name: fmt.Sprintf("sw%d/b", n%3)}}
		p := s.schema(fmt.Sprint("sw", n), telemetry.Prompt, cols, es...)
		st.schemas = append(st.schemas, p)
		st.play(s, r, p)
	}
	return st
}

// play makes the frames of one source.
func (st *story) play(s *site, r *rand.Rand, p *telemetry.Schema) {
	words := make([]uint64, p.Len())
	for i := range words {
		words[i] = 1<<32 - uint64(r.IntN(3000))
	}
	step := []float64{0.3, 1, 1, 3, 1}[r.IntN(5)]
	for at := 0.1 + r.Float64(); at < st.until; at += step * (0.95 + 0.1*r.Float64()) {
		said := make([]uint64, len(words))
		for i := range words {
			words[i] += uint64(r.IntN(300))
			if c := i / len(p.Entities); c < 2 && words[i] > 1<<32 && r.IntN(2) == 0 {
				words[i] &= 1<<32 - 1
			} else if r.IntN(150) == 0 {
				words[i] = 0
			}
			said[i] = words[i]
			switch r.IntN(20) {
			case 0:
				said[i] = gap
			case 1:
				said[i] = absent
			}
		}
		if r.IntN(8) == 0 {
			continue // lost
		}
		st.frames = append(st.frames, s.frame(p, at, said...))
		st.times = append(st.times, at)
	}
}

// transcript closes the whole story and writes down everything that can be
// asked. arrive gives the frames that have come when a tick passes.
func (st *story) transcript(t testing.TB, each ForEach, hook func(*Window) *Window, arrive func(from, to float64) []telemetry.EncodedFrame) string {
	cat := catalogue(t)
	cfg := st.cfg
	cfg.Catalogue = cat
	w := New(cfg)
	for _, p := range st.schemas {
		w.AddSchema(p)
	}
	var out strings.Builder
	last := -1.0
	for g := 0.0; g <= st.until; g++ {
		for _, f := range arrive(last, g+2) { // the tick is a lateness ahead
			w.AddFrame(f)
		}
		last = g + 2
		c := w.Close(telemetry.Prompt, sec(g), each)
		fmt.Fprintf(&out, "%v %v\n", g, told(c))
		describe(&out, w, sec(g), st.schemas)
		if hook != nil {
			w = hook(w)
		}
	}
	return out.String()
}

// told leaves out the slots: they are no identity.
func told(c Closed) (out []string) {
	for _, s := range c.Steps {
		out = append(out, fmt.Sprint("step ", s.Series, s.At, s.Value))
	}
	for _, s := range c.Switched {
		out = append(out, fmt.Sprint("switched ", s.Series, s.From, s.To))
	}
	return out
}

func describe(out *strings.Builder, w *Window, g telemetry.Time, schemas []*telemetry.Schema) {
	var all []telemetry.Series
	for _, p := range schemas {
		for i := range p.Len() {
			all = append(all, p.Series(i))
		}
	}
	slices.SortFunc(all, telemetry.Series.Compare)
	for _, s := range slices.Compact(all) {
		slot, _ := w.Slot(s)
		v, f := w.Value(slot)
		fmt.Fprint(out, s, w.Source(slot), v, f, w.Cadence(slot))
		for back := range 6 {
			x, ok := w.At(slot, g.Add(-telemetry.Duration(back)*second))
			fmt.Fprint(out, " ", x, ok)
		}
		out.WriteByte('\n')
	}
}

// onTime gives each frame when its time has come.
func (st *story) onTime(from, to float64) (out []telemetry.EncodedFrame) {
	for i, at := range st.times {
		if at > from && at <= to {
			out = append(out, st.frames[i])
		}
	}
	return out
}

// TestI2OrderOfArrivalDoesNotMatter delays every frame at random by up to the
// lateness, and repeats some.
func TestI2OrderOfArrivalDoesNotMatter(t *testing.T) {
	for seed := range uint64(4) {
		st := tell(t, seed)
		want := st.transcript(t, Serial, nil, st.onTime)
		for shuffle := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, shuffle+100))
			came := make([]float64, len(st.frames))
			for i, at := range st.times {
				came[i] = at + r.Float64()*1.999
			}
			got := st.transcript(t, Serial, nil, func(from, to float64) (out []telemetry.EncodedFrame) {
				for i := range st.frames {
					if came[i] > from && came[i] <= to {
						out = append(out, st.frames[i])
					}
					if again := st.times[i] + 7; i%5 == 0 && again > from && again <= to {
						out = append(out, st.frames[i])
					}
				}
				r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
				return out
			})
			same(t, got, want)
		}
	}
}

// TestI2BatchingDoesNotMatter puts neighbouring frames of a source into one,
// and cuts others by column.
func TestI2BatchingDoesNotMatter(t *testing.T) {
	for seed := range uint64(3) {
		st := tell(t, seed)
		want := st.transcript(t, Serial, nil, st.onTime)
		b := st.rebatched(t, seed)
		same(t, b.transcript(t, Serial, nil, b.onTime), want)
	}
}

func (st *story) rebatched(t testing.TB, seed uint64) *story {
	r := rand.New(rand.NewPCG(seed, 5))
	out := &story{cfg: st.cfg, schemas: st.schemas, until: st.until}
	var dec telemetry.Decoder
	var enc telemetry.Encoder
	for _, p := range st.schemas {
		var batch telemetry.Frame
		var begun float64
		flush := func() {
			if len(batch.Instants) == 0 {
				return
			}
			b, err := enc.AppendFrame(nil, p, &batch)
			if err != nil {
				t.Fatal(err)
			}
			out.frames, out.times = append(out.frames, b), append(out.times, begun)
			batch = telemetry.Frame{}
		}
		for i, b := range st.frames {
			var f telemetry.Frame
			if h, _ := b.Header(); h.Fingerprint != p.Fingerprint() || dec.Decode(b, p, &f) != nil {
				continue
			}
			if len(batch.Instants) == 0 {
				begun = st.times[i]
			} else if st.times[i]-begun > 1.9 || r.IntN(3) == 0 {
				flush()
				begun = st.times[i]
			}
			batch.Instants = append(batch.Instants, f.Instants...)
			batch.Words = append(batch.Words, f.Words...)
			if f.States == nil {
				f.States = slices.Repeat([]telemetry.State{telemetry.Present}, len(f.Words))
			}
			batch.States = append(batch.States, f.States...)
		}
		flush()
	}
	return out
}

// TestI4SchemaOrderDoesNotMatter registers the schemas the other way round.
func TestI4SchemaOrderDoesNotMatter(t *testing.T) {
	st := tell(t, 9)
	want := st.transcript(t, Serial, nil, st.onTime)
	slices.Reverse(st.schemas)
	same(t, st.transcript(t, Serial, nil, st.onTime), want)
}

// TestI8SlicesDoNotMatter closes in four parts at once.
func TestI8SlicesDoNotMatter(t *testing.T) {
	st := tell(t, 10)
	same(t, st.transcript(t, parallel(4), nil, st.onTime), st.transcript(t, Serial, nil, st.onTime))
}

// TestI5ARestoredWindowGoesOnAlike restores after every grid.
func TestI5ARestoredWindowGoesOnAlike(t *testing.T) {
	st := tell(t, 11)
	want := st.transcript(t, Serial, nil, st.onTime)
	got := st.transcript(t, Serial, func(w *Window) *Window {
		b := taken(w)
		again := New(w.cfg)
		c := snapshot.NewReader(b)
		again.Snapshot(c)
		if c.Err() != nil || c.Remaining() != 0 {
			t.Fatalf("restore: %v, %d bytes left", c.Err(), c.Remaining())
		}
		if !bytes.Equal(taken(again), b) {
			t.Fatal("a restored window has another snapshot")
		}
		return again
	}, st.onTime)
	same(t, got, want)
}

func taken(w *Window) []byte {
	c := snapshot.NewWriter()
	w.Snapshot(c)
	return c.Data()
}

func same(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("line %d differs:\ngot  %s\nwant %s", i, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
}

// parallel cuts into n parts and runs them at once.
func parallel(n int) ForEach {
	return func(total int, fn func(slice, lo, hi int)) {
		done := make(chan bool)
		for s := range n {
			go func() { fn(s, total*s/n, total*(s+1)/n); done <- true }()
		}
		for range n {
			<-done
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	st := tell(f, 12)
	w := New(Config{Catalogue: catalogue(f), History: 4})
	for _, p := range st.schemas[:2] {
		w.AddSchema(p)
	}
	for _, b := range st.onTime(0, 5) {
		w.AddFrame(b)
	}
	w.Close(telemetry.Prompt, sec(3), Serial)
	f.Add(taken(w))
	f.Fuzz(func(t *testing.T, b []byte) {
		w := New(Config{Catalogue: catalogue(t), History: 4})
		c := snapshot.NewReader(b)
		w.Snapshot(c)
		if c.Err() == nil { // whatever it is, it must be usable
			w.Close(telemetry.Prompt, sec(4), Serial)
			w.Close(telemetry.Delayed, sec(4), Serial)
		}
	})
}
