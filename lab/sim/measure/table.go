package measure

import (
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/telemetry"
)

// how describes how an instrument makes a number of what is true.
type how uint8

const (
	// total counts: between two seconds it is between their totals.
	total how = iota
	// mean is averaged by the device over the second before the reading.
	mean
	// level holds at the end of a second and jumps.
	level
	// peak is the most since the reading before, which cleared it.
	peak
	// risen is what became of a total in the second, as a gauge: see column.most.
	risen
	// spells counts the times a total of seconds begins to rise all the time.
	spells
	// rest never moves in the simulated physics.
	rest
)

// column is one metric of the entities T that a source reads.
type column[T any] struct {
	name telemetry.MetricName
	as   telemetry.ValueType
	exp  uint8
	how  how
	of   func(*T) float64 // nil of rest

	bits    uint8   // width of a total that wraps; 0 is 64
	sticks  bool    // on old devices a total of 32 bits stays at its most
	small   bool    // a total of rare things: it begins near zero
	noise   float64 // share by which one reading of a mean is off, one deviation
	bias    float64 // share by which a sensor is off for good, at most
	shift   float64 // amount by which a sensor is off for good, at most
	quantum float64 // a mean is stated in whole multiples of it; 0 of its exponent
	most    float64 // of risen: what it comes to for a rise of a twentieth or more
}

// body reads the words of a source.
type body interface {
	columns() []telemetry.Column
	// vary lets a world change the columns before begin, and reports whether any
	// are left.
	vary(v variation) bool
	begin(r *random.Source, imperfect bool)
	read(r *reading)
	// pass is called for a second in which there is no reading.
	pass(now *state.State)
	// reset lets every counter begin again at a state.
	reset(at *state.State)
}

// reading is one reading of a source, share of the way from one second's end to
// the next.
type reading struct {
	past, now *state.State
	share     float64
	device    int // the only entity that is read, or all
	words     []uint64
	gaps      []int32
	random    *random.Source
	imperfect bool
}

// table is a body: entities of one kind, the same columns for each.
type table[T any] struct {
	index []int32 // what view is given, by entity
	view  func(st *state.State, i int32) T
	cols  []column[T]
	old   []bool // by entity: counters of 32 bits stick; nil none

	scale  []float64 // by column
	base   []uint64  // by series: what a total began with
	bias   []float64 // by series
	most   []float64 // by series, of peaks
	noise  *worlds.Noise
	before []float64 // by series: what noise was last
	a, b   []T
	peaked bool
}

func (t *table[T]) columns() []telemetry.Column {
	out := make([]telemetry.Column, len(t.cols))
	for i := range t.cols {
		out[i] = telemetry.Column{Metric: t.cols[i].name, Type: t.cols[i].as, Exp: t.cols[i].exp}
	}
	return out
}

// begin draws what counters begin with and how sensors are off.
func (t *table[T]) begin(r *random.Source, imperfect bool) {
	n := len(t.index)
	t.a, t.b = make([]T, n), make([]T, n)
	t.base, t.bias = make([]uint64, n*len(t.cols)), make([]float64, n*len(t.cols))
	for c := range t.cols {
		k := &t.cols[c]
		scale := 1.0
		for range k.exp {
			scale = float64(scale * 10)
		}
		t.scale = append(t.scale, scale)
		t.peaked = t.peaked || k.how == peak || k.how == spells
		for i := range n {
			s := c*n + i
			t.bias[s] = 1
			switch {
			case k.how == total || k.how == rest || k.how == spells:
				t.base[s] = first(k.bits, k.small, r)
			case imperfect && k.bias > 0:
				t.bias[s] = 1 + r.Uniform(-k.bias, k.bias)
			case imperfect && k.shift > 0:
				t.bias[s] = r.Uniform(-k.shift, k.shift)
			case k.shift > 0:
				t.bias[s] = 0
			}
		}
	}
	if t.noise != nil {
		t.before = make([]float64, n*len(t.cols))
	}
	if t.peaked {
		t.most = make([]float64, n*len(t.cols))
	}
}

// first is what a counter shows when a run begins.
func first(bits uint8, small bool, r *random.Source) uint64 {
	switch {
	case small:
		return uint64(r.Below(4))
	case bits == 32:
		return r.Uint64() >> 32
	}
	return r.Uint64() >> 26 // days of traffic
}

func (t *table[T]) load(past, now *state.State) {
	for i, x := range t.index {
		t.a[i], t.b[i] = t.view(past, x), t.view(now, x)
	}
}

func (t *table[T]) read(r *reading) {
	t.load(r.past, r.now)
	n := len(t.index)
	for c := range t.cols {
		words := r.words[c*n : (c+1)*n]
		switch t.cols[c].how {
		case total:
			t.totals(c, words, r.share)
		case mean:
			t.means(c, words, r)
		case level:
			t.levels(c, words, r)
		case peak:
			t.peaks(c, words, r)
		case risen:
			t.rises(c, words)
		case spells:
			t.begins(c, words)
		case rest:
			copy(words, t.base[c*n:(c+1)*n])
		}
	}
}

// rises states what a total's rise in the second comes to: all of most from a
// twentieth on.
func (t *table[T]) rises(c int, words []uint64) {
	k := &t.cols[c]
	for i := range words {
		d := max(0, min(1, float64(20*(k.of(&t.b[i])-k.of(&t.a[i])))))
		words[i] = uint64(float64(d * k.most))
	}
}

// begins counts the spells in which a total of seconds rises all the time.
func (t *table[T]) begins(c int, words []uint64) {
	k, n := &t.cols[c], len(t.index)
	on, count := t.most[c*n:(c+1)*n], t.base[c*n:(c+1)*n]
	for i := range words {
		d := k.of(&t.b[i]) - k.of(&t.a[i])
		switch {
		case d > 0.98 && on[i] == 0:
			on[i] = 1
			count[i]++
		case d < 0.5:
			on[i] = 0
		}
		words[i] = count[i]
	}
}

func (t *table[T]) totals(c int, words []uint64, share float64) {
	k, n := &t.cols[c], len(t.index)
	scale, base := t.scale[c], t.base[c*n:(c+1)*n]
	for i := range words {
		a, b := k.of(&t.a[i]), k.of(&t.b[i])
		w := base[i] + uint64(float64((a+float64((b-a)*share))*scale))
		switch {
		case k.sticks && t.old != nil && t.old[i]:
			w = min(w, 1<<32-1)
		case k.bits == 32:
			w &= 1<<32 - 1
		}
		words[i] = w
	}
}

func (t *table[T]) means(c int, words []uint64, r *reading) {
	k, n := &t.cols[c], len(t.index)
	for i := range words {
		a, b := k.of(&t.a[i]), k.of(&t.b[i])
		v := a + float64((b-a)*r.share)
		if v != v {
			r.gap(int32(c*n+i), words)
			continue
		}
		if r.imperfect {
			v = t.blur(k, v, c*n+i, r.random)
		}
		words[i] = wordOf(k.as, float64(v*t.scale[c]))
	}
}

// blur adds what a sensor is off by.
func (t *table[T]) blur(k *column[T], v float64, series int, r *random.Source) float64 {
	bias := t.bias[series]
	if k.shift > 0 {
		v += bias
	} else {
		v = float64(v * bias)
	}
	if k.noise > 0 {
		v = float64(v * (1 + float64(k.noise*t.off(series, r))))
	}
	if k.quantum > 0 {
		v = float64(float64(int64(v/k.quantum+0.5)) * k.quantum)
	}
	return v
}

// tent is a number around zero with deviation 1: the sum of two uniform ones, at
// most √6 away from zero.
func tent(r *random.Source) float64 {
	x := r.Uint64()
	const half = 1 << 32
	return float64((float64(x>>32)/half + float64(x&(half-1))/half - 1) * 2.449489742783178)
}

func (t *table[T]) levels(c int, words []uint64, r *reading) {
	k, n := &t.cols[c], len(t.index)
	from := t.b
	if r.share < 0.5 {
		from = t.a
	}
	for i := range words {
		v := k.of(&from[i])
		if v != v {
			r.gap(int32(c*n+i), words)
			continue
		}
		words[i] = wordOf(k.as, float64(v*t.scale[c]))
	}
}

func (t *table[T]) peaks(c int, words []uint64, r *reading) {
	k, n := &t.cols[c], len(t.index)
	most := t.most[c*n : (c+1)*n]
	for i := range words {
		if r.skips(i) {
			most[i] = max(most[i], k.of(&t.b[i]))
			continue
		}
		words[i] = wordOf(k.as, float64(max(most[i], k.of(&t.b[i]))*t.scale[c]))
		most[i] = 0
	}
}

func (t *table[T]) pass(now *state.State) {
	if !t.peaked {
		return
	}
	n := len(t.index)
	for c := range t.cols {
		if k := &t.cols[c]; k.how == peak {
			for i, x := range t.index {
				v := t.view(now, x)
				t.most[c*n+i] = max(t.most[c*n+i], k.of(&v))
			}
		}
	}
}

func (t *table[T]) reset(at *state.State) {
	n := len(t.index)
	for c := range t.cols {
		k := &t.cols[c]
		for i, x := range t.index {
			switch k.how {
			case total:
				v := t.view(at, x)
				t.base[c*n+i] = -uint64(float64(k.of(&v) * t.scale[c]))
			case rest, spells:
				t.base[c*n+i] = 0
			}
		}
	}
}

// gap states that there was no value.
func (r *reading) gap(series int32, words []uint64) {
	r.gaps = append(r.gaps, series)
	words[int(series)%len(words)] = 0
}

// wordOf rounds a number that is scaled already.
func wordOf(as telemetry.ValueType, v float64) uint64 {
	switch {
	case as == telemetry.Float:
		return telemetry.Column{Type: telemetry.Float}.Word(v)
	case v >= 0:
		return uint64(v + 0.5)
	case as == telemetry.Uint:
		return 0
	}
	return uint64(int64(v - 0.5))
}
