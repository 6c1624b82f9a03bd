package whatif

import (
	"fmt"
	"io"
)

// listed bounds the ranks and workers that a text lists; JSON has all.
const listed = 8

// WriteText prints a report for people.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.f("%d steps, %d data-parallel ranks × %d stages\n", r.Steps, r.DP, r.PP)
	p.f("a step takes %.3f s; without stragglers it would take %.3f s: slowdown S = %.3f\n", r.Seconds, r.Ideal, r.Slowdown)
	p.f("verdict: %s: %s\n\n", r.Verdict, r.Why)
	p.f("goes away with the worst 3 %% of the workers: %5.1f %% of the lost time (M_W)\n", 100*r.WorstWorkers)
	p.f("goes away with the last stage's excess:      %5.1f %% (M_S)\n", 100*r.LastStage)
	p.f("comes with collector pauses alone:           %5.1f %%\n", 100*r.Collector)
	p.f("forward and backward times correlate:        %5.2f\n\n", r.Pairing)
	p.slowdowns("by operation", r.Operations, func(s Slowdown) string { return s.Name })
	p.slowdowns("by stage", r.Stages, func(s Slowdown) string { return fmt.Sprintf("stage %d", s.Rank) })
	p.slowdowns("by data-parallel rank", r.Ranks, func(s Slowdown) string { return fmt.Sprintf("rank %d", s.Rank) })
	p.f("worst workers (slowdown if only this one's rank and stage are as recorded)\n")
	for _, k := range r.Workers[:min(listed, len(r.Workers))] {
		p.f("  %-28s %.3f\n", fmt.Sprintf("rank %d at stage %d", k.DP, k.PP), k.Slowdown)
	}
	return p.err
}

// printer writes until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) slowdowns(title string, all []Slowdown, name func(Slowdown) string) {
	p.f("%s (slowdown if only this is as recorded)\n", title)
	for _, s := range all[:min(listed, len(all))] {
		p.f("  %-28s %.3f\n", name(s), s.Slowdown)
	}
	p.f("\n")
}
