package symptom

import (
	"slices"
	"testing"
)

// TestChangesBeyondChance: four hosts of two GPUs under one job; each GPU's change
// has an error of 5 %, so that one needs 15 % by itself. Four hosts together need as
// much, for they err together, but then half of it is enough for one of their GPUs.
func TestChangesBeyondChance(t *testing.T) {
	s := &Survey{carriers: make([][]int32, 13), nodeOf: make([]int32, 13)}
	for i := range s.nodeOf {
		s.all = append(s.all, twoHosts().all[0])
		s.nodeOf[i] = int32(9 + (i-1)/2)
		s.carriers[i] = []int32{int32(9 + (i-1)/2), 0} // its host, the job
	}
	f := &Contrast{survey: s}
	const err, least = 0.05, 0.03
	for _, c := range []struct {
		name string
		by   []float64 // of GPUs 1 to 8
		want []int32   // which are evident
		// whether a change of 10 % would show at the first GPU, its host and the job
		shows [3]bool
	}{
		{"one far beyond its error", []float64{.2, 0, 0, 0, 0, 0, 0, 0}, []int32{1}, [3]bool{true, false, false}},
		{"one within its error", []float64{.1, 0, 0, 0, 0, 0, 0, 0}, nil, [3]bool{false, false, false}},
		{"all within it, together", []float64{.1, .12, .1, .08, .1, .11, .1, .1}, nil, [3]bool{false, false, false}},
		{"all together, one within its error", []float64{.16, .17, .16, .1, .16, .18, .16, .16}, []int32{1, 2, 3, 4, 5, 6, 7, 8}, [3]bool{true, true, true}},
		{"all together, but one not half as much", []float64{.16, .17, .16, .04, .16, .18, .16, .17}, []int32{1, 2, 3, 5, 6, 7, 8}, [3]bool{true, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var changes []change
			for i, by := range c.by {
				changes = append(changes, change{int32(1 + i), by, err})
			}
			p := f.pooled(changes, least)
			var got []int32
			for _, x := range changes {
				if p.evident(s, x) {
					got = append(got, x.of)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("evident %v, want %v", got, c.want)
			}
			shows := p.shows(s, 0.1)
			if got := [3]bool{shows[1], shows[9], shows[0]}; got != c.shows {
				t.Errorf("10 %% shows at the GPU, the host, the job: %v, want %v", got, c.shows)
			}
		})
	}
}
