//go:build !service

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/telemetry"
)

// drill is a lab that does not disclose the faults that it injected until it is
// asked; then it prints the truth next to what the site reported, and ends.
type drill struct {
	wired *wiredSite
	url   string // where Quintet answers

	mu     sync.Mutex
	struck []struckFault
}

// struckFault is an injected fault, or why it could not be injected.
type struckFault struct {
	due   due
	at    time.Time
	fault fault.Fault
	err   error
}

func (d *drill) note(s struckFault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.struck = append(d.struck, s)
}

// surprise draws a fault for a drill whose faults are not given: of any domain, at
// a place where it degrades a job, and up to a minute later than the first possible
// time. Neither the seed nor an argument discloses it.
func (w *wiredSite) surprise(at, lasts time.Duration) (due, error) {
	kinds := slices.DeleteFunc(fault.Kinds(), func(k fault.Kind) bool { return k.Expect != fault.Incident || len(w.site.Places(k.Name)) == 0 })
	if len(kinds) == 0 {
		return due{}, errors.New("this site has no place for any fault")
	}
	domains := domainsOf(kinds) // first: most kinds are the network's
	domain := domains[rand.IntN(len(domains))]
	kinds = slices.DeleteFunc(kinds, func(k fault.Kind) bool { return k.Domain != domain })
	name := kinds[rand.IntN(len(kinds))].Name
	places := w.site.Places(name)
	return due{at: at + rand.N(time.Minute), name: name, where: places[rand.IntN(len(places))], lasts: lasts}, nil
}

func domainsOf(kinds []fault.Kind) []string {
	var out []string
	for _, k := range kinds {
		if !slices.Contains(out, k.Domain) {
			out = append(out, k.Domain)
		}
	}
	return out
}

// ask waits for a line of standard input and then prints the truth. It never
// returns where none comes: a read of a terminal cannot be taken back.
func (d *drill) ask(ctx context.Context, sh *cli.Shell, over func()) {
	if !bufio.NewScanner(os.Stdin).Scan() || ctx.Err() != nil {
		return // nobody is there to ask
	}
	fmt.Fprint(sh.Out, d.verdict(ctx))
	over()
}

// verdict compares what was reported with what was true.
func (d *drill) verdict(ctx context.Context) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	incidents, err := incidentsOf(ctx, d.url, "")
	slices.SortStableFunc(incidents, func(a, b opened) int { return a.Opened.Compare(b.Opened) })
	var b strings.Builder
	b.WriteString("lab: the drill is over\n")
	if len(d.struck) == 0 {
		b.WriteString("lab: nothing was struck yet\n")
	}
	known := map[string]bool{}
	for _, s := range d.struck {
		b.WriteString(struckLine(s.at, s.due, s.fault, s.err) + "\n")
		if s.err == nil && err == nil {
			b.WriteString(d.judge(s, incidents, known))
		}
	}
	if err != nil {
		fmt.Fprintf(&b, "lab: the incidents cannot be read: %v\n", err)
	}
	for i := range incidents {
		if x := &incidents[i]; !known[x.ID] && d.during(x.Opened) {
			fmt.Fprintf(&b, "lab:   also reported: %s\n", x)
		}
	}
	return b.String()
}

// late is how long after its end a fault may still be reported: heat persists.
const late = 2 * time.Minute

// during reports whether an incident was reported after the first fault was
// injected.
func (d *drill) during(at time.Time) bool {
	return len(d.struck) == 0 || !at.Before(d.struck[0].at.Add(-time.Second))
}

// judge decides whether a fault was reported, and marks the incident that was about
// it: the first that is right, or else the first reported. reported is in the order of
// arrival.
func (d *drill) judge(s struckFault, incidents []opened, known map[string]bool) string {
	answer, err := d.wired.site.Answer(s.fault)
	if err != nil {
		return fmt.Sprintf("lab:   %v\n", err)
	}
	var best *opened
	verdict := ""
	for i := range incidents {
		x := &incidents[i]
		if x.Opened.Before(s.at.Add(-time.Second)) || x.Opened.After(s.at.Add(s.due.lasts+late)) || known[x.ID] {
			continue
		}
		if v := judged(s.fault, answer, x); best == nil || v == right && verdict != right {
			best, verdict = x, v
		}
	}
	if best == nil {
		return "lab:   not reported\n"
	}
	known[best.ID] = true
	return fmt.Sprintf("lab:   %s, %.0f s after it was struck: %s\n", verdict, best.Opened.Sub(s.at).Seconds(), best)
}

// right is the verdict on an answer that names fault and place.
const right = "right"

// judged holds one answer against one fault.
func judged(f fault.Fault, a fault.Answer, x *opened) string {
	named := x.Root.Signature == f.Name || slices.Contains(a.Alike, x.Root.Signature)
	placed := x.Root.Entity == f.Entity || slices.Contains(a.Accept, x.Root.Entity)
	switch {
	case named && placed:
		return right
	case named:
		return "right fault, wrong place"
	case placed:
		return "right place, wrong fault"
	case slices.Contains(a.Victims, x.Root.Entity):
		return "wrong: a victim"
	}
	return "wrong"
}

// opened is what is reported of an incident.
type opened struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Title    string    `json:"title"`
	Opened   time.Time `json:"opened"`
	Resolved time.Time `json:"resolved"` // zero while it is open
	Root     struct {
		Entity     telemetry.Entity `json:"entity"`
		Signature  string           `json:"signature"`
		Confidence float64          `json:"confidence"`
	} `json:"root"`
}

// String is the answer in short.
func (x *opened) String() string {
	return fmt.Sprintf("%s at %s, confidence %s (%s)", x.Root.Signature, x.Root.Entity, explain.Percent(x.Root.Confidence), x.ID)
}
