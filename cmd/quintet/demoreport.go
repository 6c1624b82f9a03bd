//go:build !service

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate/explain"
)

// demoReport prints the injected faults, what Quintet reported of them, corrections
// and ends, and keeps the score.
type demoReport struct {
	sh    *cli.Shell
	truth func(struckFault) (faultAnswer, error)

	mu     sync.Mutex
	struck []*demoFault
	known  map[string]*reported
}

// faultAnswer judges an incident against a fault.
type faultAnswer func(*opened) string

// demoFault is an injected fault, and what was reported of it.
type demoFault struct {
	struckFault
	judge faultAnswer
	first time.Duration // from the strike to the first incident about it; 0: none yet
	named time.Duration // to the first that was right
}

// reported is an incident as it was printed last.
type reported struct {
	opened
	about *demoFault // nil: no fault that was struck
	over  bool
}

func newDemoReport(sh *cli.Shell, w *wiredSite) *demoReport {
	return &demoReport{sh: sh, known: map[string]*reported{}, truth: func(s struckFault) (faultAnswer, error) {
		a, err := w.site.Answer(s.fault)
		return func(x *opened) string { return judged(s.fault, a, x) }, err
	}}
}

// line prints one event of the demo.
func (r *demoReport) line(at time.Time, what, text string) {
	fmt.Fprintf(r.sh.Out, "%s  %-9s  %s\n", at.Format(time.TimeOnly), what, text)
}

// strike prints an injected fault.
func (r *demoReport) strike(s struckFault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.err != nil {
		r.line(s.at, "not struck", fmt.Sprintf("%s: %v", s.due.name, s.err))
		return
	}
	judge, err := r.truth(s)
	if err != nil {
		r.line(s.at, "not struck", fmt.Sprintf("%s: %v", s.due.name, err))
		return
	}
	r.struck = append(r.struck, &demoFault{struckFault: s, judge: judge})
	r.line(s.at, "struck", fmt.Sprintf("%s at %s for %s", s.fault.Name, s.fault.Entity, s.due.lasts))
}

// run polls the incidents of the service at url once a second until ctx is done.
func (r *demoReport) run(ctx context.Context, url string) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		all, err := incidentsOf(ctx, url, "?limit=50")
		if err != nil {
			continue // nobody answers: it ends, or has more to do
		}
		slices.SortStableFunc(all, func(a, b opened) int { return a.Opened.Compare(b.Opened) })
		for _, x := range all {
			r.take(time.Now(), x)
		}
	}
}

// take prints what is new of an incident.
func (r *demoReport) take(now time.Time, x opened) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.known[x.ID]
	switch {
	case was == nil:
		was = &reported{opened: x, about: r.about(&x)}
		r.known[x.ID] = was
		after := ""
		if f := was.about; f != nil && f.first == 0 {
			f.first = now.Sub(f.at)
			after = fmt.Sprintf("%.0f s after the strike: ", f.first.Seconds())
		}
		r.line(now, "reported", after+x.Title)
	case was.Root != x.Root && (was.Root.Entity != x.Root.Entity || was.Root.Signature != x.Root.Signature):
		r.line(now, "corrected", fmt.Sprintf("%s instead of %s", place(&x), place(&was.opened)))
	}
	if f := was.about; f != nil && f.named == 0 && f.judge(&x) == right {
		f.named = max(now.Sub(f.at), time.Millisecond)
	}
	was.opened = x
	if x.State == "resolved" && !was.over {
		was.over = true
		r.line(now, "ended", fmt.Sprintf("%s, after %s", place(&x), x.Resolved.Sub(x.Opened).Round(time.Second)))
		r.line(now, "score", r.score())
	}
}

// about returns the fault that an incident may be about: of those that were there when it
// opened one that it names, else the newest.
func (r *demoReport) about(x *opened) *demoFault {
	var newest *demoFault
	for _, f := range slices.Backward(r.struck) {
		if x.Opened.Before(f.at.Add(-time.Second)) || !x.Opened.Before(f.at.Add(f.due.lasts+late)) {
			continue
		}
		if f.judge(x) == right {
			return f
		}
		if newest == nil {
			newest = f
		}
	}
	return newest
}

// score summarises what was injected and what was reported.
func (r *demoReport) score() string {
	var found, named, concurrent int
	var times []float64
	for _, f := range r.struck {
		if f.first > 0 {
			found++
		}
		if f.named > 0 {
			named++
			times = append(times, f.named.Seconds())
		}
	}
	for _, k := range r.known { // order-independent: they are counted
		if k.about == nil {
			concurrent++
		}
	}
	parts := []string{fmt.Sprintf("%d struck", len(r.struck)), fmt.Sprintf("%d reported", found), fmt.Sprintf("%d with the right cause", named)}
	if len(times) > 0 {
		slices.Sort(times)
		parts = append(parts, fmt.Sprintf("median %.0f s to the right cause", times[len(times)/2]))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d reports without a fault", concurrent)), ", ")
}

// place is the root of an incident in short.
func place(x *opened) string {
	if x.Root.Entity.IsZero() {
		return "cause under investigation"
	}
	return fmt.Sprintf("%s at %s (%s)", x.Root.Signature, x.Root.Entity, explain.Percent(x.Root.Confidence))
}
