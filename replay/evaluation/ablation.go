package evaluation

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Ablation is what an engine reached, and what it reached without each of some of
// its parts.
type Ablation struct {
	Whole Result    `json:"whole"`
	Parts []Ablated `json:"parts"`
}

// Ablated is what was reached without a part of the engine.
type Ablated struct {
	Part   string `json:"part"`
	Result Result `json:"result"`
}

// WriteJSON writes all of it as one JSON object.
func (a *Ablation) WriteJSON(w io.Writer) error { return writeJSON(w, a) }

// WriteTable prints what each part is worth on every set: figures with the part
// less figures without it, and how many roots are right only with it and only
// without it. Parts that change nothing on any set are listed at the end.
func (a *Ablation) WriteTable(w io.Writer) error {
	whole := &a.Whole
	keys := []string{"f1", "ac1", "ac3", "victim", "false_per_hour", "brier", "ece"}
	var idle []string
	err := table(w, func(line func(...string)) {
		head := []string{"without", "set"}
		for _, k := range keys {
			c, _ := column(k)
			head = append(head, c.Title)
		}
		line(append(head, "only with", "only without", "p")...)
		for i := range a.Parts {
			p := &a.Parts[i]
			changes := false
			for _, c := range Compare(&p.Result, whole) {
				with, without := whole.row(c.Set), p.Result.row(c.Set)
				cells := []string{p.Part, c.Set}
				for _, k := range keys {
					cells = append(cells, worth(&with.Figures, &without.Figures, k))
				}
				line(append(cells, fmt.Sprint(len(c.Gained)), fmt.Sprint(len(c.Lost)), fmt.Sprintf("%.3g", c.P))...)
				changes = changes || differ(with, without)
			}
			if !changes {
				idle = append(idle, p.Part)
			}
		}
	})
	if len(idle) > 0 {
		_, more := fmt.Fprintf(w, "\nworth nothing on every set: %s\n", strings.Join(idle, ", "))
		err = errors.Join(err, more)
	}
	return err
}

// worth is the difference that a part makes to a figure.
func worth(with, without *Figures, key string) string {
	c, _ := column(key)
	a, b := c.of(with), c.of(without)
	if a == nil || b == nil {
		return "-"
	}
	return fmt.Sprintf("%+.*f", c.Digits, *a-*b)
}

// differ reports whether any figure but the processor time differs.
func differ(a, b *Row) bool {
	for _, c := range Columns() {
		x, y := c.of(&a.Figures), c.of(&b.Figures)
		if c.Key != "cpu_s" && ((x == nil) != (y == nil) || x != nil && *x != *y) {
			return true
		}
	}
	return false
}
