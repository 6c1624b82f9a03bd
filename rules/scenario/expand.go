package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// A line may have several: {0..7} and {a,b} mean each of theirs, every
// choice with every other, the leftmost slowest. {i=0..7} names the choice, and
// {i}, {i+4}, {i-1}, {i/4}, {i%4} take it again.

// choice is what one pair of braces offers.
type choice struct {
	name   string
	values []string
}

// piece is a part of a line: words as they are, a choice, or a name that was
// chosen before.
type piece struct {
	text   string
	choice int // index of a choice, -1 for none
	op     byte
	by     int64
}

// expand returns the lines that a line means, at most limit.
func expand(line string, limit int) ([]string, error) {
	if !strings.ContainsAny(line, "{}") {
		return []string{line}, nil
	}
	pieces, choices, err := cut(line)
	if err != nil {
		return nil, err
	}
	total := 1
	for _, c := range choices {
		if total *= len(c.values); total > limit {
			return nil, fmt.Errorf("the braces mean more than %d lines", limit)
		}
	}
	lines := make([]string, 0, total)
	at := make([]int, len(choices))
	for range total {
		l, err := fill(pieces, choices, at)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
		for i := len(at) - 1; i >= 0; i-- { // the next combination
			if at[i]++; at[i] < len(choices[i].values) {
				break
			}
			at[i] = 0
		}
	}
	return lines, nil
}

// cut parses the braces of a line.
func cut(line string) (pieces []piece, choices []choice, err error) {
	for {
		before, rest, open := strings.Cut(line, "{")
		if strings.Contains(before, "}") {
			return nil, nil, fmt.Errorf("a '}' without its '{'")
		}
		pieces = append(pieces, piece{text: before, choice: -1})
		if !open {
			return pieces, choices, nil
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, nil, fmt.Errorf("a '{' is not closed")
		}
		p, err := brace(inner, &choices)
		if err != nil {
			return nil, nil, fmt.Errorf("{%s}: %w", inner, err)
		}
		pieces, line = append(pieces, p), after
	}
}

// brace reads what is between braces.
func brace(inner string, choices *[]choice) (piece, error) {
	name, list, named := strings.Cut(inner, "=")
	if !named {
		list = inner
		if p, ok := reference(inner, *choices); ok {
			return p, nil
		}
		name = ""
	} else if name == "" || strings.ContainsAny(name, "+-/%., ") {
		return piece{}, fmt.Errorf("%q is no name for a choice", name)
	}
	for _, c := range *choices {
		if named && c.name == name {
			return piece{}, fmt.Errorf("%q is chosen twice", name)
		}
	}
	values, err := offers(list)
	if err != nil {
		return piece{}, err
	}
	*choices = append(*choices, choice{name, values})
	return piece{choice: len(*choices) - 1}, nil
}

// reference reads {i}, {i+4} and their like.
func reference(inner string, choices []choice) (piece, bool) {
	for i, c := range choices {
		tail, ok := strings.CutPrefix(inner, c.name)
		if c.name == "" || !ok {
			continue
		}
		if tail == "" {
			return piece{choice: i}, true
		}
		by, err := strconv.ParseUint(tail[1:], 10, 31)
		if strings.IndexByte("+-/%", tail[0]) >= 0 && err == nil && (by > 0 || tail[0] == '+' || tail[0] == '-') {
			return piece{choice: i, op: tail[0], by: int64(by)}, true
		}
	}
	return piece{}, false
}

// offers reads "0..7", "00..15" or "a,b,c".
func offers(list string) ([]string, error) {
	lo, hi, ranged := strings.Cut(list, "..")
	if !ranged {
		if !strings.Contains(list, ",") {
			return nil, fmt.Errorf("want a range 0..7, a list a,b or a name chosen before in the line")
		}
		return strings.Split(list, ","), nil
	}
	a, err1 := strconv.ParseUint(lo, 10, 31)
	b, err2 := strconv.ParseUint(hi, 10, 31)
	if err1 != nil || err2 != nil || b < a || b-a >= maxLines {
		return nil, fmt.Errorf("want a range of whole numbers, lower first")
	}
	width := 0
	if lo[0] == '0' {
		width = len(lo)
	}
	var out []string
	for n := a; n <= b; n++ {
		out = append(out, fmt.Sprintf("%0*d", width, n))
	}
	return out, nil
}

// fill writes a line for one combination of choices.
func fill(pieces []piece, choices []choice, at []int) (string, error) {
	var b strings.Builder
	for _, p := range pieces {
		if p.choice < 0 {
			b.WriteString(p.text)
			continue
		}
		v := choices[p.choice].values[at[p.choice]]
		if p.op == 0 {
			b.WriteString(v)
			continue
		}
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return "", fmt.Errorf("%q is no whole number to count with", v)
		}
		switch p.op {
		case '+':
			n += p.by
		case '-':
			n -= p.by
		case '/':
			n /= p.by
		case '%':
			n %= p.by
		}
		if n < 0 {
			return "", fmt.Errorf("%s-%d is below 0", v, p.by)
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return b.String(), nil
}
