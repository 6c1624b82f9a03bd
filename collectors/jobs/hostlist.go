package jobs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mostHosts bounds what a list may expand to.
const mostHosts = 1 << 17

var errHostlist = errors.New("no list of hosts")

// hosts expands a list of hosts as Slurm writes it: "n[001-003,7],login" and
// "r[1-2]n[1-4]". Its order is kept: it is the order of a job's tasks.
func hosts(s string) ([]string, error) {
	var out []string
	for _, part := range splitOutside(s, '[', ']') {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, fmt.Errorf("%.80q: %w: an empty name", s, errHostlist)
		}
		var err error
		if out, err = expand(out, "", part); err != nil {
			return nil, fmt.Errorf("%.80q: %w", s, err)
		}
	}
	return out, nil
}

// splitOutside splits at commas outside a pair of brackets. An empty text has no
// part.
func splitOutside(s string, open, shut byte) []string {
	if s == "" {
		return nil
	}
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == open:
			depth++
		case s[i] == shut && depth > 0:
			depth--
		case s[i] == ',' && depth == 0:
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}

// expand appends every name that head and the pattern rest produce.
func expand(out []string, head, rest string) ([]string, error) {
	before, in, found := strings.Cut(rest, "[")
	if !found {
		if strings.Contains(rest, "]") {
			return nil, fmt.Errorf("%w: ] without [", errHostlist)
		}
		if len(out) >= mostHosts {
			return nil, fmt.Errorf("%w: more than %d", errHostlist, mostHosts)
		}
		return append(out, head+rest), nil
	}
	in, after, found := strings.Cut(in, "]")
	if !found {
		return nil, fmt.Errorf("%w: [ without ]", errHostlist)
	}
	for _, span := range strings.Split(in, ",") {
		lo, hi, width, err := numbers(span)
		if err != nil {
			return nil, err
		}
		for n := lo; n <= hi; n++ {
			if out, err = expand(out, head+before+fmt.Sprintf("%0*d", width, n), after); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// numbers reads 7 or 001-128; a number keeps the digits that its first has.
func numbers(s string) (lo, hi uint64, width int, err error) {
	first, last, ranged := strings.Cut(s, "-")
	if !ranged {
		last = first
	}
	lo, err = strconv.ParseUint(first, 10, 32)
	if err == nil {
		hi, err = strconv.ParseUint(last, 10, 32)
	}
	if err != nil || hi < lo || hi-lo >= mostHosts {
		return 0, 0, 0, fmt.Errorf("%w: the range %.40q", errHostlist, s)
	}
	return lo, hi, len(first), nil
}
