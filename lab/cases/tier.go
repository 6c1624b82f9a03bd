package cases

import (
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/fault"
)

// Classes lists the names of all faults and benign look-alikes.
func Classes() []string {
	var out []string
	for _, k := range fault.Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// Severities are those that a class has.
func Severities(class string) []Severity {
	k := fault.Find(class)
	if k == nil || k.Expect != fault.Incident || k.Severity == "" {
		return []Severity{Usual}
	}
	if k.Stops || k.Loud > 0 && k.Quiet == 0 {
		return []Severity{Loud}
	}
	return []Severity{Loud, Quiet}
}

// Wanted states which cases are wanted.
type Wanted struct {
	GPUs       int
	Seeds      []uint64
	Classes    []string   // nil: all, and healthy runs; two at once are NAME+NAME
	Severities []Severity // nil: all
	Apart      bool       // the classes of fault.Parameters too
	Doubles    bool       // two faults at once too
	FewSeeds   []uint64   // of Apart and Doubles; nil: Seeds
	Coarsen    int
}

// Cases lists them: classes in order, severities, seeds.
func (w Wanted) Cases() []Case {
	var out []Case
	seeds := w.Seeds
	add := func(c Case, severities []Severity) {
		for _, s := range severities {
			if w.Severities != nil && !slices.Contains(w.Severities, s) && s != Usual {
				continue
			}
			for _, seed := range seeds {
				c.Severity, c.GPUs, c.Seed, c.Coarsen = s, w.GPUs, seed, w.Coarsen
				out = append(out, c)
			}
		}
	}
	for _, class := range append(Classes(), Healthy) {
		if w.Classes == nil || slices.Contains(w.Classes, class) {
			add(Case{Class: class}, Severities(class))
		}
	}
	if w.FewSeeds != nil {
		seeds = w.FewSeeds
	}
	if w.Apart {
		for _, p := range fault.Apart() {
			if w.Classes == nil || slices.Contains(w.Classes, p.Name) {
				add(Case{Class: p.Name, Apart: true}, Severities(p.Name))
			}
		}
	}
	for _, d := range doubles() {
		c := Case{Class: d[0], Second: d[1]}
		if w.Doubles && w.Classes == nil || slices.Contains(w.Classes, c.Group()) {
			add(c, []Severity{Loud})
		}
	}
	return out
}

// doubles are the pairs of faults that are tried at once: of different domains,
// of one, and one inside the other's window.
func doubles() [][2]string {
	return [][2]string{
		{"slow-receiver", "coolant-flow-loss"}, {"gpu-slow", "link-degraded"}, {"cold-plate", "ecmp-collision"},
		{"power-cap", "input-stall"}, {"slow-rank", "link-errors"}, {"coolant-flow-loss", "gpu-slow"},
		{"host-jitter", "silent-drop"}, {"power-brake", "slow-receiver"}, {"nvlink-degraded", "cold-plate"}, {"gpu-slow", "slow-rank"},
	}
}

// Pairs lists the names of those that are tried at once, as NAME+NAME.
func Pairs() []string {
	var out []string
	for _, d := range doubles() {
		out = append(out, Case{Class: d[0], Second: d[1]}.Group())
	}
	return out
}

// Seeds counts from the first tuning or the first reported seed.
func Seeds(n int, tuning bool) []uint64 {
	first := uint64(FirstReportedSeed)
	if tuning {
		first, n = FirstTuningSeed, min(n, LastTuningSeed)
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = first + uint64(i)
	}
	return out
}
