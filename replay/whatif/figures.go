package whatif

import (
	"math"
	"slices"
)

func mean(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// ratio is a over b, 0 where b is nothing.
func ratio(a, b float64) float64 {
	if math.Abs(b) < 1e-12 {
		return 0
	}
	return a / b
}

// pairing correlates forward and backward computing times of the microbatches of
// one worker and step, each less the worker's mean in that step: Pearson's
// coefficient over all.
func pairing(t *Timeline) float64 {
	index := map[op]int{}
	for i, o := range t.ops {
		index[o] = i
	}
	var xx, yy, xy float64
	for stage := range t.PP {
		var pairs [][2]int
		for k := 0; ; k++ {
			f, okF := index[op{forward, stage, k}]
			b, okB := index[op{backward, stage, k}]
			if !okF || !okB {
				break
			}
			pairs = append(pairs, [2]int{f, b})
		}
		for lane := range t.lanes() {
			var mx, my float64
			for _, p := range pairs {
				mx += t.lengths[p[0]][lane] / float64(len(pairs))
				my += t.lengths[p[1]][lane] / float64(len(pairs))
			}
			for _, p := range pairs {
				x, y := t.lengths[p[0]][lane]-mx, t.lengths[p[1]][lane]-my
				xx, yy, xy = xx+x*x, yy+y*y, xy+x*y
			}
		}
	}
	return ratio(xy, math.Sqrt(xx*yy))
}
