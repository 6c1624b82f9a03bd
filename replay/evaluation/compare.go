package evaluation

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Comparison is the paired comparison of two results on one set: the cases that
// both have, by whether the root was right.
type Comparison struct {
	Set     string
	Both    int      // right in both
	Neither int      // wrong in both
	Gained  []string // right in the new one only
	Lost    []string // right in the old one only
	Apart   int      // cases that one result has and the other has not
	// P is the probability of a split of gained and lost that is at least as
	// uneven, if neither result is better: McNemar's exact test, two-sided.
	P float64
}

// Compare compares the sets that both results have, in the order of the new one.
func Compare(old, now *Result) []Comparison {
	var out []Comparison
	for i := range now.Sets {
		n := &now.Sets[i]
		o := old.row(n.Set)
		if o == nil || o.Absent != "" || n.Absent != "" {
			continue
		}
		out = append(out, compareRows(o, n))
	}
	return out
}

func compareRows(old, now *Row) Comparison {
	c := Comparison{Set: now.Set}
	before := map[string]bool{}
	for _, k := range old.Cases {
		if k.Right != nil {
			before[k.Name] = *k.Right
		}
	}
	for _, k := range now.Cases {
		if k.Right == nil {
			continue
		}
		was, paired := before[k.Name]
		delete(before, k.Name)
		switch {
		case !paired:
			c.Apart++
		case was && *k.Right:
			c.Both++
		case was:
			c.Lost = append(c.Lost, k.Name)
		case *k.Right:
			c.Gained = append(c.Gained, k.Name)
		default:
			c.Neither++
		}
	}
	c.Apart += len(before)
	c.P = mcnemar(len(c.Gained), len(c.Lost))
	return c
}

// mcnemar is the two-sided exact binomial probability of a split of b+c cases
// that is at least as uneven as b to c, where both sides are equally likely.
func mcnemar(b, c int) float64 {
	n := b + c
	sum := 0.0
	for k := range min(b, c) + 1 {
		sum += math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
	}
	return min(1, 2*sum)
}

// logChoose is the logarithm of n over k.
func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	in, _ := math.Lgamma(float64(k) + 1)
	out, _ := math.Lgamma(float64(n-k) + 1)
	return all - in - out
}

// WriteComparison prints a comparison of each set, then the cases that differ.
func WriteComparison(w io.Writer, cs []Comparison) error {
	if len(cs) == 0 {
		return errors.New("compare: no set in common")
	}
	err := table(w, func(line func(...string)) {
		line("set", "pairs", "right before", "right now", "gained", "lost", "p", "unpaired")
		for i := range cs {
			c := &cs[i]
			pairs := c.Both + c.Neither + len(c.Gained) + len(c.Lost)
			line(c.Set, fmt.Sprint(pairs), fmt.Sprint(c.Both+len(c.Lost)), fmt.Sprint(c.Both+len(c.Gained)),
				fmt.Sprint(len(c.Gained)), fmt.Sprint(len(c.Lost)), fmt.Sprintf("%.3g", c.P), fmt.Sprint(c.Apart))
		}
	})
	for i := range cs {
		c := &cs[i]
		for _, side := range []struct {
			what  string
			names []string
		}{{"gained", c.Gained}, {"lost", c.Lost}} {
			if len(side.names) > 0 {
				_, more := fmt.Fprintf(w, "%s %s: %s\n", c.Set, side.what, strings.Join(side.names, " "))
				err = errors.Join(err, more)
			}
		}
	}
	return err
}
