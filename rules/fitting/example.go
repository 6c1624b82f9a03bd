package fitting

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Label states which answers to a judgement are right. Neither is called for the
// answer without a name.
type Label struct {
	// Entity and Signature report whether a root and a name are right.
	Entity    func(telemetry.Entity) bool
	Signature func(string) bool
	// First reports whether a root is the one meant, of those that are right; nil where all
	// are meant alike.
	First func(telemetry.Entity) bool
	// Nothing states that no fault degrades the job: only the answer without a name
	// is right.
	Nothing bool
}

// Example is one labelled judgement: the strengths of the features of every answer
// that was possible.
type Example struct {
	Weight float64
	rows   []row
}

// row is one possible answer. By feature of the signature, there and absent are how far
// it is there and not there, as precisely as that was read: both are 0 where it was
// not seen, and they add up to 1 where it was read without error.
type row struct {
	signature     int     // its index; -1 for the answer without a name
	offset        float64 // log-odds that no weight changes
	there, absent []float32
	right         bool
}

// NewExample returns a judgement with its label. Where no answer is both of the
// right root and the right name, those of the right root are right; where there is
// none of these either, the answer without a name is: nothing that was weighed
// could be. Of several that are right those of the root that is meant are, if it was weighed.
func NewExample(sigs []explain.Signature, j *explain.Judgement, l Label) Example {
	x := Example{Weight: 1, rows: []row{{signature: -1, offset: j.Unknown.Score}}}
	var places, both, meant []int
	among := map[int]int{} // candidates by signature
	for _, c := range j.Candidates {
		here := !l.Nothing && (l.Entity(c.Entity) || !c.Peer.IsZero() && l.Entity(c.Peer))
		for k := range sigs {
			s := &sigs[k]
			r, ok := newRow(s, k, &c)
			if !ok {
				continue
			}
			if among[k]++; !s.Shown(c.Entity.Kind, c.Values) {
				continue
			}
			if here {
				places = append(places, len(x.rows))
			}
			if here && l.Signature(s.Name) {
				both = append(both, len(x.rows))
				if l.isFirst(&c) {
					meant = append(meant, len(x.rows))
				}
			}
			x.rows = append(x.rows, r)
		}
	}
	for i := range x.rows {
		if s := x.rows[i].signature; s >= 0 {
			x.rows[i].offset += explain.Share(among[s])
		}
	}
	right := []int{0}
	for _, some := range [][]int{meant, both, places} {
		if len(some) > 0 {
			right = some
			break
		}
	}
	for _, i := range right {
		x.rows[i].right = true
	}
	return x
}

// isFirst reports whether a candidate, or the end across from it, is the root that is meant.
func (l *Label) isFirst(c *explain.Candidate) bool {
	return l.First != nil && (l.First(c.Entity) || !c.Peer.IsZero() && l.First(c.Peer))
}

// newRow reads a candidate as an answer of a signature; false where it can be none.
func newRow(s *explain.Signature, index int, c *explain.Candidate) (row, bool) {
	if !slices.Contains(s.Roots, c.Entity.Kind) {
		return row{}, false
	}
	if _, _, ok := s.Weigh(c.Entity.Kind, c.Values); !ok {
		return row{}, false
	}
	r := row{signature: index, offset: s.Offset(c), there: make([]float32, len(s.Features)), absent: make([]float32, len(s.Features))}
	for i := range s.Features {
		feature := &s.Features[i]
		if v, seen := c.Values[feature.Key()]; seen && feature.AskedOf(c.Entity.Kind) {
			precision, strength := feature.Precision(v, c.Values), feature.Strength(v)
			r.there[i], r.absent[i] = float32(precision*strength), float32(precision*(1-strength))
		}
	}
	return r, true
}
