package attribute

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Explained is the explained fraction: how much of a job's loss a root explains.
type Explained struct {
	Domain telemetry.Domain // the root's
	// Explains is the part of the loss that there would be if this root were the
	// only one, 0 to 1.
	Explains float64
}

// maxSharing bounds the roots among which a loss is shared; the work grows with
// two to their number.
const maxSharing = 10

// Shares divides a job's loss among concurrent roots. What several explain
// together is at most the whole: roots that make ranks late are waited for at
// one barrier, so that only the largest counts; what the network takes comes on
// top, and again only its worst way counts. Each root gets the mean of what it
// adds, over all orders in which the roots could have come (Shapley 1953). So
// shares add up to what all explain together, at most 1; equal fractions get equal
// shares; no root gets more than it explains alone.
//
// Of more than ten roots the ten largest share, the others get nothing.
func Shares(fractions []Explained) []float64 {
	out := make([]float64, len(fractions))
	largest := make([]int, len(fractions))
	for i := range largest {
		largest[i] = i
	}
	slices.SortStableFunc(largest, func(a, b int) int { return cmp.Compare(fractions[b].Explains, fractions[a].Explains) })
	largest = largest[:min(len(largest), maxSharing)]
	n := len(largest)
	weight := orders(n)
	for of := range 1 << n {
		size := 0
		for i := range n {
			size += of >> i & 1
		}
		without := together(fractions, largest, of)
		for i, root := range largest {
			if of>>i&1 == 0 {
				more := together(fractions, largest, of|1<<i) - without
				out[root] += float64(weight[size] * more)
			}
		}
	}
	return out
}

// orders returns, for each number of roots that came before a given one of n,
// the part of all orders in which certain ones did: k!(n−1−k)!/n!.
func orders(n int) []float64 {
	out := make([]float64, n)
	for k := range n {
		out[k] = 1 / float64(n)
		for i := range k { // over the ways to choose k of n − 1
			out[k] = float64(out[k] * (float64(i+1) / float64(n-1-i)))
		}
	}
	return out
}

// together is what a set of roots explains.
func together(fractions []Explained, roots []int, of int) float64 {
	late, stuck := 0.0, 0.0
	for i, root := range roots {
		d := fractions[root]
		switch {
		case of>>i&1 == 0:
		case d.Domain == telemetry.Network:
			stuck = max(stuck, min(1, d.Explains))
		default:
			late = max(late, min(1, d.Explains))
		}
	}
	return min(1, late+stuck)
}
