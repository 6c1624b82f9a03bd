package detect_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	rowSources = 9
	rowPorts   = 8
	rowSeconds = 220

	// Where two columns stand, and when the counters of one are full.
	stateColumn, waitsColumn = 4, 5
	sticksAt                 = 80
)

// row is a site of several sources of every kind of metric in which much goes
// wrong: series shift, burst, fall, stick, fall silent and come back.
type row struct {
	*site
	devices []*device
	random  *rand.Rand
	trouble []int // per device and series: what it has, 0 is nothing
	lines   []string
}

// newRow registers its sources in the order given.
func newRow(t testing.TB, order []int) *row {
	r := &row{site: newSite(t), random: rand.New(rand.NewPCG(7, 7)), devices: make([]*device, rowSources)}
	for _, i := range order {
		// Every source states all ports of its own, and the last two the same.
		d := r.unknownDevice(string(rune('a'+i)), rowPorts, temp, traffic, errs, limit, up, waits, flow, power, alive, mixed, unjudged)
		for p := range d.schema.Entities {
			d.schema.Entities[p] = port(min(i, rowSources-2)*rowPorts + p)
		}
		for p := range rowPorts / 2 { // these will stick
			d.total[waitsColumn*rowPorts+p] = 1<<32 - 1 - 100*sticksAt
		}
		r.know(d)
		r.devices[i] = d
	}
	r.trouble = make([]int, rowSources*r.devices[0].schema.Len())
	return r
}

// speak states the next second of all sources.
func (r *row) speak() {
	for i, d := range r.devices {
		if i == 3 && r.now > 90 && r.now < 120 || i == rowSources-1 && r.now > 150 {
			continue // the whole source is silent
		}
		values := make([]float64, d.schema.Len())
		for k := range values {
			values[k] = r.value(i*len(values)+k, k/rowPorts)
		}
		r.say(d, values...)
	}
}

func (r *row) value(series, column int) float64 {
	if r.now > 40 && r.random.IntN(60) == 0 {
		r.trouble[series] = r.random.IntN(4)
	}
	base := []float64{50, 1e6, 0, 700, 1, 100, 40, 600, 1, 0.5, 3}[column]
	x := base * (1 + 0.02*r.random.Float64())
	switch column {
	case stateColumn:
		x = base
	case waitsColumn:
		return map[bool]float64{true: 100}[r.now < sticksAt]
	}
	switch r.trouble[series] {
	case 1:
		return x*0.6 + map[bool]float64{true: 200}[column == 2]
	case 2:
		return x * 2
	case 3:
		return lost
	}
	return x
}

// step closes the next grid and records what was found.
func (r *row) step() {
	r.speak()
	for _, f := range r.close() {
		r.lines = append(r.lines, line(&f))
	}
}

func ordered(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// reference is what a row finds when nothing special is done.
func reference(t testing.TB) []string {
	t.Helper()
	r := newRow(t, ordered(rowSources))
	for range rowSeconds {
		r.step()
	}
	if len(r.lines) < 500 {
		t.Fatalf("only %d findings: the row shows nothing", len(r.lines))
	}
	return r.lines
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("finding %d is\n%s, want\n%s", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d findings, want %d", len(got), len(want))
	}
}

// I3: findings come by time, entity, metric and shape, none twice.
func TestI3FindingsAreOrdered(t *testing.T) {
	r := newRow(t, ordered(rowSources))
	most, shapes := 0, map[telemetry.Shape]int{}
	for range rowSeconds {
		r.speak()
		found := r.close()
		most = max(most, len(found))
		for i := range found {
			shapes[found[i].Shape]++
			if i > 0 && found[i-1].Compare(&found[i]) >= 0 {
				t.Fatalf("%+v stands before %+v", found[i-1], found[i])
			}
		}
		var last *detect.Finding
		r.d.Active(r.w, func(f *detect.Finding) {
			if last != nil && (last.Series.Compare(f.Series) > 0 || last.Series == f.Series && last.Shape >= f.Shape) {
				t.Fatalf("active: %+v stands before %+v", last, f)
			}
			last = f
		})
	}
	if most < 5 || len(shapes) != 6 {
		t.Errorf("at most %d findings at a time, %d shapes: too few to show an order", most, len(shapes))
	}
}

// The end of a finding follows its beginning, once.
func TestFindingsBeginAndEndInTurn(t *testing.T) {
	r := newRow(t, ordered(rowSources))
	type key struct {
		series telemetry.Series
		shape  telemetry.Shape
	}
	open := map[key]telemetry.Interval{}
	for range rowSeconds {
		r.speak()
		for _, f := range r.close() {
			k := key{f.Series, f.Shape}
			onset, lasts := open[k]
			if f.Ended == 0 {
				if lasts {
					t.Fatalf("second %d: begins twice: %+v", r.now, f)
				}
				open[k] = f.Onset
				continue
			}
			if !lasts || onset != f.Onset {
				t.Fatalf("second %d: an end without its begin: %+v", r.now, f)
			}
			delete(open, k)
		}
		if n := r.lasting(); n != len(open) {
			t.Fatalf("second %d: %d findings last, %d were told of", r.now, n, len(open))
		}
	}
}

// I4: the order in which sources become known changes nothing.
func TestI4TheOrderOfSchemasDoesNotMatter(t *testing.T) {
	want := reference(t)
	for seed := range uint64(3) {
		r := newRow(t, rand.New(rand.NewPCG(seed, 4)).Perm(rowSources))
		for range rowSeconds {
			r.step()
		}
		same(t, r.lines, want)
	}
}

// I5: a restored detector is identical to one that never stopped, whatever the
// grid.
func TestI5RestoredAtEveryGrid(t *testing.T) {
	want := reference(t)
	r := newRow(t, ordered(rowSources))
	for range rowSeconds {
		r.step()
		data := r.snapshot()
		r.restore(data)
		if again := r.snapshot(); !bytes.Equal(again, data) {
			t.Fatalf("second %d: a restored state is written differently", r.now)
		}
	}
	same(t, r.lines, want)
}

func (s *site) snapshot() []byte {
	s.t.Helper()
	c := snapshot.NewWriter()
	s.w.Snapshot(c)
	s.d.Snapshot(c)
	if c.Err() != nil {
		s.t.Fatal(c.Err())
	}
	return c.Data()
}

func (s *site) restore(data []byte) {
	s.t.Helper()
	s.w, s.d = window.New(window.Config{Catalogue: s.cat}), detect.New(detect.Config{})
	c := snapshot.NewReader(data)
	s.w.Snapshot(c)
	s.d.Snapshot(c)
	if c.Err() != nil || c.Remaining() != 0 {
		s.t.Fatalf("%v, %d bytes left", c.Err(), c.Remaining())
	}
}

// I8: the number of slices changes nothing, nor does it when they run at the
// same time.
func TestI8TheNumberOfSlicesDoesNotMatter(t *testing.T) {
	want := reference(t)
	for name, each := range map[string]window.ForEach{"backwards": backwards, "at once": atOnce} {
		t.Run(name, func(t *testing.T) {
			r := newRow(t, ordered(rowSources))
			r.each = each
			for range rowSeconds {
				r.step()
			}
			same(t, r.lines, want)
		})
	}
}

const slicesOfLaw = 4

func backwards(n int, fn func(slice, lo, hi int)) {
	for _, i := range slices.Backward(ordered(slicesOfLaw)) {
		fn(i, i*n/slicesOfLaw, (i+1)*n/slicesOfLaw)
	}
}

func atOnce(n int, fn func(slice, lo, hi int)) {
	var all sync.WaitGroup
	for i := range slicesOfLaw {
		all.Go(func() { fn(i, i*n/slicesOfLaw, (i+1)*n/slicesOfLaw) })
	}
	all.Wait()
}
