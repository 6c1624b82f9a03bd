package scenario

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// A series is written as terms:
//
//	5      one sample of value 5           5x30    thirty of them
//	+900   900 more than the one before    +900x60 sixty times in a row
//	-3x5   less                            5x*     to the end of the scenario
//	_      no sample: nothing is sent      ?       a gap: asked, and there was no value
//	5~10%  drawn anew from 4.5 to 5.5      +900~50 a step drawn from 850 to 950
//	(+900x3 +0x7)x6                        the terms in brackets, six times over
//
// Before the first term the value is 0.

// maxDepth bounds brackets in brackets.
const maxDepth = 8

// forever is the count of "x*".
const forever = math.MaxInt32

type termKind uint8

const (
	level  termKind = iota // the value
	change                 // a step from the value before
	absent
	gap
	group
)

// term is one word of a series.
type term struct {
	kind   termKind
	value  float64
	spread float64 // half the width from which it is drawn
	count  int     // how many times over; forever to the end
	terms  []term  // of a group
}

// parseSeries reads the words of a series.
func parseSeries(words []string) ([]term, error) {
	r := &seriesReader{text: strings.Join(words, " ")}
	terms, err := r.terms(0)
	if err == nil && r.pos < len(r.text) {
		err = fmt.Errorf("a ')' without its '('")
	}
	if err == nil && len(terms) == 0 {
		err = fmt.Errorf("no values")
	}
	return terms, err
}

type seriesReader struct {
	text string
	pos  int
}

// terms reads until the text or the bracket ends.
func (r *seriesReader) terms(depth int) (out []term, err error) {
	for {
		for r.pos < len(r.text) && r.text[r.pos] == ' ' {
			r.pos++
		}
		if r.pos == len(r.text) || r.text[r.pos] == ')' {
			return out, nil
		}
		t, err := r.term(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
}

func (r *seriesReader) term(depth int) (term, error) {
	if r.text[r.pos] == '(' {
		return r.group(depth)
	}
	end := r.pos
	for end < len(r.text) && !strings.ContainsRune(" ()", rune(r.text[end])) {
		end++
	}
	word := r.text[r.pos:end]
	r.pos = end
	body, count, counted := cutCount(word)
	t := term{count: 1}
	var err error
	if counted {
		t.count, err = parseCount(count)
	}
	if err == nil {
		err = t.body(body)
	}
	if err != nil {
		return t, fmt.Errorf("%.40q: %w", word, err)
	}
	return t, nil
}

// cutCount splits "5x30" at its x. A hexadecimal number is none of ours.
func cutCount(word string) (body, count string, ok bool) {
	i := strings.LastIndexByte(word, 'x')
	if i < 0 {
		return word, "", false
	}
	return word[:i], word[i+1:], true
}

func (r *seriesReader) group(depth int) (term, error) {
	if depth == maxDepth {
		return term{}, fmt.Errorf("brackets nest deeper than %d", maxDepth)
	}
	r.pos++
	t := term{kind: group, count: 1}
	var err error
	if t.terms, err = r.terms(depth + 1); err != nil {
		return t, err
	}
	if r.pos == len(r.text) {
		return t, fmt.Errorf("a '(' is not closed")
	}
	r.pos++ // ')'
	if len(t.terms) == 0 {
		return t, fmt.Errorf("nothing between brackets")
	}
	end := r.pos
	for end < len(r.text) && !strings.ContainsRune(" ()", rune(r.text[end])) {
		end++
	}
	if tail := r.text[r.pos:end]; tail != "" {
		if tail[0] != 'x' {
			return t, fmt.Errorf("%.40q after brackets: want x and a count", tail)
		}
		if t.count, err = parseCount(tail[1:]); err != nil {
			return t, err
		}
	}
	r.pos = end
	return t, nil
}

func parseCount(s string) (int, error) {
	if s == "*" {
		return forever, nil
	}
	n, err := strconv.ParseUint(s, 10, 24)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("count %.20q: want a whole number from 1 or *", s)
	}
	return int(n), nil
}

// body reads a term without its count.
func (t *term) body(s string) error {
	switch {
	case s == "_":
		t.kind = absent
		return nil
	case s == "?":
		t.kind = gap
		return nil
	case strings.HasPrefix(s, "+"), strings.HasPrefix(s, "-"):
		t.kind = change
	}
	number, spread, spreads := strings.Cut(s, "~")
	var err error
	if t.value, err = finite(strings.TrimPrefix(number, "+")); err != nil {
		return err
	}
	if !spreads {
		return nil
	}
	share, percent := strings.CutSuffix(spread, "%")
	if t.spread, err = finite(share); err != nil || t.spread < 0 {
		return fmt.Errorf("spread %.20q: want a number or a percentage", spread)
	}
	if percent {
		t.spread = math.Abs(t.value) * t.spread / 100
	}
	return nil
}

func finite(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) > 1e18 || strings.ContainsAny(s, "xX_") {
		return 0, fmt.Errorf("want a number, +step, -step, _ or ?")
	}
	return v, nil
}

// length returns how many samples terms make, and whether that is all:
// with "x*" it is not.
func length(terms []term) (n int, exact bool) {
	exact = true
	for _, t := range terms {
		each := 1
		if t.kind == group {
			var ok bool
			if each, ok = length(t.terms); !ok {
				exact = false
			}
		}
		if t.count == forever {
			exact = false
			n += each
			continue
		}
		if n += each * min(t.count, MaxSamples); n > MaxSamples {
			return MaxSamples + 1, exact
		}
	}
	return n, exact
}

// value is one sample of a series.
type value struct {
	v     float64
	state telemetry.State
}

// values hands out a series sample by sample.
type values struct {
	l     *load
	rand  *rand.Rand
	now   float64
	stack []frame
}

// frame is where one level of brackets is.
type frame struct {
	terms []term
	i     int // the term
	done  int // how often the term has been played
}

// play begins a series. Its jitter depends on the scenario's seed and the
// series' name, so that another line changes nothing here.
func (s *Scenario) play(l *load) *values {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(l.series.String()) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return &values{l: l, rand: rand.New(rand.NewPCG(s.Seed, h)), stack: []frame{{terms: l.terms}}}
}

// next returns the next sample; false when the series has ended.
func (v *values) next() (value, bool) {
	for len(v.stack) > 0 {
		f := &v.stack[len(v.stack)-1]
		if f.i == len(f.terms) {
			v.stack = v.stack[:len(v.stack)-1]
			continue
		}
		t := &f.terms[f.i]
		if t.count != forever && f.done == t.count {
			f.i, f.done = f.i+1, 0
			continue
		}
		f.done++
		if f.done == forever {
			f.done = 1
		}
		if t.kind == group {
			v.stack = append(v.stack, frame{terms: t.terms})
			continue
		}
		return v.sample(t), true
	}
	return value{}, false
}

func (v *values) sample(t *term) value {
	x := t.value
	if t.spread > 0 {
		x += (2*v.rand.Float64() - 1) * t.spread
	}
	x = v.l.tidy(x)
	switch t.kind {
	case absent:
		return value{state: telemetry.Absent}
	case gap:
		return value{state: telemetry.Gap}
	case change:
		v.now += x
	default:
		v.now = x
	}
	out := v.l.tidy(v.now)
	if v.l.bits > 0 {
		out = math.Mod(out, math.Ldexp(1, v.l.bits))
	}
	return value{out, telemetry.Present}
}

// tidy rounds to what a device would count in: whole bytes, packets and
// frames; billionths of anything else.
func (l *load) tidy(x float64) float64 {
	if m := l.metric; m != nil && m.Type == telemetry.Counter && m.Unit != "seconds" && m.Unit != "joules" {
		return math.Round(x)
	}
	if math.Abs(x) > 1e6 {
		return x
	}
	return math.Round(x*1e9) / 1e9
}
