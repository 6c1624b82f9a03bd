package telemetry

import (
	"fmt"
	"slices"
)

// How an instant's states are written: alike everywhere, as in the instant
// before, or one by one.
const (
	statesPresent byte = iota
	statesAsBefore
	statesListed
)

// appendStates writes, for each instant, which series are present, absent or
// gaps. States repeat themselves from instant to instant (a pair that the
// device does not have, a port that is down), so a repetition is one byte.
func appendStates(dst []byte, states []State, n int) []byte {
	for k := 0; k < len(states); k += n {
		row := states[k : k+n]
		switch {
		case allPresent(row):
			dst = append(dst, statesPresent)
		case k > 0 && equalStates(row, states[k-n:k]):
			dst = append(dst, statesAsBefore)
		default:
			dst = appendStateList(append(dst, statesListed), row)
		}
	}
	return dst
}

func equalStates(a, b []State) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// appendStateList writes, for every sixty-four series, a byte that states which
// octets have holes, and for each of those two masks: the holes, and which of
// them are gaps.
func appendStateList(dst []byte, row []State) []byte {
	for lo := 0; lo < len(row); lo += 64 {
		block := row[lo:min(lo+64, len(row))]
		ctrl := len(dst)
		dst = append(dst, 0)
		for i := 0; i < len(block); i += 8 {
			holes, gaps := masks(block[i:min(i+8, len(block))])
			if holes != 0 {
				dst[ctrl] |= 1 << (i / 8)
				dst = append(dst, holes, gaps)
			}
		}
	}
	return dst
}

func masks(octet []State) (holes, gaps byte) {
	for i, s := range octet {
		if s != Present {
			holes |= 1 << i
		}
		if s == Gap {
			gaps |= 1 << i
		}
	}
	return holes, gaps
}

// states reads what appendStates writes.
func (r *reader) states(f *Frame, n int) {
	f.States = slices.Grow(f.States[:0], len(f.Words))[:len(f.Words)]
	for k := 0; k < len(f.States) && r.err == nil; k += n {
		row := f.States[k : k+n]
		switch how := r.u8("states"); {
		case how == statesPresent:
			for i := range row {
				row[i] = Present
			}
		case how == statesAsBefore && k > 0:
			copy(row, f.States[k-n:k])
		case how == statesListed:
			r.stateList(row)
		default:
			r.fail(fmt.Errorf("states at byte %d: unknown form %d", r.off-1, how))
		}
	}
}

func (r *reader) stateList(row []State) {
	for lo := 0; lo < len(row); lo += 64 {
		block := row[lo:min(lo+64, len(row))]
		ctrl := r.u8("states")
		for i := 0; i < len(block); i += 8 {
			var holes, gaps byte
			if ctrl>>(i/8)&1 != 0 {
				holes, gaps = r.u8("states"), r.u8("states")
			}
			r.octetStates(block[i:min(i+8, len(block))], holes, gaps)
		}
		if n := (len(block) + 7) / 8; ctrl>>n != 0 {
			r.fail(fmt.Errorf("states at byte %d: of a series that the schema does not have", r.off))
		}
	}
}

func (r *reader) octetStates(octet []State, holes, gaps byte) {
	if gaps&^holes != 0 || holes>>len(octet) != 0 {
		r.fail(fmt.Errorf("states at byte %d: of a series that the schema does not have", r.off))
	}
	for i := range octet {
		switch {
		case holes>>i&1 == 0:
			octet[i] = Present
		case gaps>>i&1 == 0:
			octet[i] = Absent
		default:
			octet[i] = Gap
		}
	}
}
