package telemetry

import "fmt"

// coding is how a run of columns becomes numbers that are short.
type coding uint8

const (
	codePlain coding = iota // the word itself: unsigned, first instant
	codeDelta               // zigzag of the difference from the instant before
	codeFloat               // exclusive or with it, bits reversed: a mantissa ends in zeros
)

func (c Column) coding(first bool) coding {
	switch {
	case c.Type == Float:
		return codeFloat
	case c.Type == Uint && first:
		return codePlain
	}
	return codeDelta
}

// run returns the end of the columns from lo on that are coded alike, and how.
func (s *Schema) run(lo int, first bool) (hi int, c coding) {
	c = s.Columns[lo].coding(first)
	for hi = lo + 1; hi < len(s.Columns) && s.Columns[hi].coding(first) == c; hi++ {
	}
	return hi, c
}

// fingerprints remembers the fingerprints of the schemas an encoder or decoder
// works with: hashing one for every frame would cost more than the frame.
type fingerprints struct {
	last   *Schema
	lastFP Fingerprint
	known  map[*Schema]Fingerprint
}

// maxKnownSchemas bounds the memory; past it everything is learned again.
const maxKnownSchemas = 1 << 14

// of returns the fingerprint of s, which it validates the first time.
func (p *fingerprints) of(s *Schema) (Fingerprint, error) {
	if s == p.last && s != nil {
		return p.lastFP, nil
	}
	fp, ok := p.known[s]
	if !ok {
		if s == nil {
			return 0, fmt.Errorf("no schema")
		}
		if err := s.Validate(); err != nil {
			return 0, err
		}
		fp = s.Fingerprint()
		if p.known == nil || len(p.known) >= maxKnownSchemas {
			p.known = make(map[*Schema]Fingerprint)
		}
		p.known[s] = fp
	}
	p.last, p.lastFP = s, fp
	return fp, nil
}
