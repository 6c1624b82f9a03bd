package fitting

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// Options say how weights are fitted.
type Options struct {
	// Ridge is how strongly weights are kept near those there were before, in nats
	// per squared log-odds.
	Ridge float64
	// Rounds of gradient descent.
	Rounds int
	// Only, if any, are the signatures whose weights are fitted, by name; all others
	// keep theirs.
	Only []string
}

// fits reports whether the weights of a signature are fitted.
func (o *Options) fits(name string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, name) }

// rate and the two memories are those of Adam (Kingma and Ba 2015).
const (
	rate   = 0.05
	memory = 0.9
	scale  = 0.999
)

// layout finds a signature's weights in a vector: its prior, then for and against
// of each feature.
type layout struct{ first []int }

func layOut(sigs []explain.Signature) (l layout, size int) {
	for _, s := range sigs {
		l.first = append(l.first, size)
		size += 1 + 2*len(s.Features)
	}
	return l, size
}

// read returns the weights of signatures as a vector.
func (l layout) read(sigs []explain.Signature) []float64 {
	var w []float64
	for _, s := range sigs {
		w = append(w, s.Prior)
		for _, c := range s.Features {
			w = append(w, c.For, c.Against)
		}
	}
	return w
}

// write gives signatures the weights of a vector.
func (l layout) write(sigs []explain.Signature, w []float64) {
	for k := range sigs {
		at := l.first[k]
		sigs[k].Prior = w[at]
		for i := range sigs[k].Features {
			sigs[k].Features[i].For, sigs[k].Features[i].Against = w[at+1+2*i], w[at+2+2*i]
		}
	}
}

// free marks the weights in a vector that are fitted.
func (l layout) free(sigs []explain.Signature, o *Options) []bool {
	var out []bool
	for k := range sigs {
		out = append(out, slices.Repeat([]bool{o.fits(sigs[k].Name)}, 1+2*len(sigs[k].Features))...)
	}
	return out
}

// Fit gives signatures the weights that make the right answers of the examples
// likeliest, and returns the mean negative log-likelihood before and after, in
// nats. A feature never speaks against what it is evidence for, nor for it by being
// absent: For stays at or above 0 and Against at or below it. That a site has the
// instrument is then no evidence, and what is fitted holds where it is missing.
func Fit(sigs []explain.Signature, examples []Example, o Options) (before, after float64) {
	l, size := layOut(sigs)
	start := l.read(sigs)
	l.order(sigs, start)
	w := append([]float64(nil), start...)
	var total float64
	for _, x := range examples {
		total += x.Weight
	}
	first, second := make([]float64, size), make([]float64, size)
	free := l.free(sigs, &o)
	for round := 1; round <= o.Rounds; round++ {
		gradient := make([]float64, size)
		loss := 0.0
		for i := range examples {
			loss += examples[i].descend(l, w, gradient)
		}
		if after = loss / total; round == 1 {
			before = after
		}
		for k := range w {
			if !free[k] {
				continue
			}
			g := gradient[k] + 2*o.Ridge*(w[k]-start[k])
			first[k] = memory*first[k] + (1-memory)*g
			second[k] = scale*second[k] + (1-scale)*g*g
			step := first[k] / (1 - math.Pow(memory, float64(round)))
			w[k] -= rate * step / (math.Sqrt(second[k]/(1-math.Pow(scale, float64(round)))) + 1e-8)
		}
		l.order(sigs, w)
	}
	l.write(sigs, w)
	return before, after
}

// Loss returns the mean negative log-likelihood of examples, in nats, and the share
// of them whose likeliest answer is right; 0 of none.
func Loss(sigs []explain.Signature, examples []Example) (nats, right float64) {
	l, size := layOut(sigs)
	w, unused := l.read(sigs), make([]float64, size)
	var total float64
	for i := range examples {
		x := &examples[i]
		nats += x.descend(l, w, unused)
		if x.likeliest(l, w).right {
			right += x.Weight
		}
		total += x.Weight
	}
	if total == 0 {
		return 0, 0
	}
	return nats / total, right / total
}

// likeliest is the answer with the highest log-odds.
func (x *Example) likeliest(l layout, w []float64) *row {
	best, odds := &x.rows[0], x.rows[0].score(l, w)
	for i := range x.rows {
		if s := x.rows[i].score(l, w); s > odds {
			best, odds = &x.rows[i], s
		}
	}
	return best
}

// order keeps For at or above 0 and Against at or below it.
func (l layout) order(sigs []explain.Signature, w []float64) {
	for k := range sigs {
		for i := range sigs[k].Features {
			at := l.first[k] + 1 + 2*i
			w[at], w[at+1] = max(w[at], 0), min(w[at+1], 0)
		}
	}
}

// score is the log-odds of an answer.
func (r *row) score(l layout, w []float64) float64 {
	if r.signature < 0 {
		return r.offset
	}
	at := l.first[r.signature]
	sum := r.offset + w[at]
	for i := range r.there {
		sum += float64(r.there[i])*w[at+1+2*i] + float64(r.absent[i])*w[at+2+2*i]
	}
	return sum
}

// descend adds an example's gradient of the negative log-likelihood and returns
// that.
func (x *Example) descend(l layout, w, gradient []float64) float64 {
	odds := make([]float64, len(x.rows))
	top := math.Inf(-1)
	for i := range x.rows {
		odds[i] = x.rows[i].score(l, w)
		top = max(top, odds[i])
	}
	var all, right float64
	for i := range odds {
		odds[i] = math.Exp(odds[i] - top)
		all += odds[i]
		if x.rows[i].right {
			right += odds[i]
		}
	}
	right = max(right, 1e-300)
	for i := range x.rows {
		r := &x.rows[i]
		share := odds[i] / all
		if r.right {
			share -= odds[i] / right
		}
		if share = x.Weight * share; r.signature >= 0 && share != 0 {
			r.pull(l, share, gradient)
		}
	}
	return x.Weight * (math.Log(all) - math.Log(right))
}

// pull adds one answer's part of a gradient.
func (r *row) pull(l layout, share float64, gradient []float64) {
	at := l.first[r.signature]
	gradient[at] += share
	for i := range r.there {
		gradient[at+1+2*i] += share * float64(r.there[i])
		gradient[at+2+2*i] += share * float64(r.absent[i])
	}
}
