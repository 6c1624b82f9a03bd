package telemetry

import (
	"errors"
	"math/bits"
	"strings"
)

// blockWords is how many words are written together.
const blockWords = 64

// coding is how words become numbers that are short: what they are coded as
// after the word of the instant before, or after zero at the first. It follows
// from the schema alone.
type coding uint8

const (
	codeRise  coding = iota // the difference: of counters, which only rise but for resets
	codeDelta               // zigzag of the difference: of other integers
	codeFloat               // exclusive or, bits reversed: a mantissa ends in zeros
)

func (c Column) coding() coding {
	switch {
	case c.Type == Float:
		return codeFloat
	case strings.HasSuffix(string(c.Metric), "_total"):
		return codeRise
	}
	return codeDelta
}

// number returns what cur is coded as after prev; zero means unchanged.
func (c coding) number(cur, prev uint64) uint64 {
	switch c {
	case codeRise:
		return cur - prev
	case codeDelta:
		return zigzag(int64(cur - prev))
	}
	return bits.Reverse64(cur ^ prev)
}

// word undoes number.
func (c coding) word(number, prev uint64) uint64 {
	switch c {
	case codeRise:
		return prev + number
	case codeDelta:
		return prev + uint64(unzigzag(number))
	}
	return prev ^ bits.Reverse64(number)
}

// run is a stretch of series whose columns are coded alike.
type run struct {
	lo, hi int
	c      coding
}

// runs cuts the schema into runs.
func (s *Schema) runs() (rs []run) {
	n := len(s.Entities)
	for i := range s.Columns {
		c := s.Columns[i].coding()
		if i == 0 || rs[len(rs)-1].c != c {
			rs = append(rs, run{lo: i * n, c: c})
		}
		rs[len(rs)-1].hi = (i + 1) * n
	}
	return rs
}

// blockOf is up to blockWords words of one run at one instant, and the same at
// the instant before.
type blockOf struct {
	cur, prev []uint64
	c         coding
}

// plan is what coding a frame asks of its schema, worked out once: hashing a
// schema for every frame would cost more than the frame.
type plan struct {
	fingerprint Fingerprint
	runs        []run
}

// plans remembers those of the schemas an encoder or decoder works with.
type plans struct {
	last  *Schema
	plan  *plan // of last
	known map[*Schema]*plan
}

// maxKnownSchemas bounds the memory; past it everything is learned again.
const maxKnownSchemas = 1 << 14

// of returns the plan of s, which it validates the first time.
func (p *plans) of(s *Schema) (*plan, error) {
	if s == p.last && s != nil {
		return p.plan, nil
	}
	pl, ok := p.known[s]
	if !ok {
		if s == nil {
			return nil, errors.New("no schema")
		}
		if err := s.Validate(); err != nil {
			return nil, err
		}
		pl = &plan{s.Fingerprint(), s.runs()}
		if p.known == nil || len(p.known) >= maxKnownSchemas {
			p.known = make(map[*Schema]*plan)
		}
		p.known[s] = pl
	}
	p.last, p.plan = s, pl
	return pl, nil
}
