package score

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Case is one labelled run and what the engine reported about it.
type Case struct {
	Dir    string // as the caller named it
	Class  string // empty: Truth.Class
	Fabric string // what leave-one-fabric-out groups by; empty: Fabric(Edges)
	Truth  Truth
	// Incidents holds what was published: the last revision of each, or all
	// revisions, of which the highest of each ID is judged.
	Incidents []explain.Incident
	// Published gives, by incident ID, the grid whose closing first published
	// it as an incident, where that differs from Incident.Opened: a risk keeps
	// the time at which it opened when it becomes an incident. May be nil.
	Published map[string]telemetry.Time
	// Worst gives, by incident ID, the worst severity it was published with, where
	// that is worse than the last. May be nil.
	Worst map[string]string
	// Affected gives, by incident ID, the jobs of all of its revisions. It counts
	// where the last revision names none: an incident that was withdrawn was
	// published all the same. May be nil.
	Affected map[string][]telemetry.Entity
	// Edges is the run's topology and placement.
	Edges []telemetry.Edge
	// Steps holds the steps of the judged jobs as the bundle records them, any
	// order. They belong to the truth: they are never thinned by coarsening.
	Steps []Step
	// Start and End are the first and last grid of the recording.
	Start, End telemetry.Time
}

// Step is one step of a job: it ran from End less Seconds to End.
type Step struct {
	Job     telemetry.Entity
	End     telemetry.Time
	Seconds float64
}

func (s Step) start() telemetry.Time { return s.End.Add(-seconds(s.Seconds)) }

func seconds(s float64) telemetry.Duration { return telemetry.Duration(s * 1e9) }

// Half names the half of the runs that a case belongs to.
type Half string

// The halves, for reporting: an answer that rests on a few runs shows as a
// difference between them.
const (
	HalfA Half = "a"
	HalfB Half = "b"
)

// HalfOf splits the runs by the lowest bit of the FNV-1a hash of the last
// element of a run's directory: it does not depend on which other runs are
// there, nor on where they lie.
func HalfOf(c *Case) Half {
	h := fnv.New64a()
	h.Write([]byte(filepath.Base(filepath.Clean(c.Dir))))
	if h.Sum64()&1 == 0 {
		return HalfA
	}
	return HalfB
}

// Fabric describes a fabric by what makes it another one: how many switches
// and nodes it has and how fast its links are, "8 switches, 24 nodes, 100G".
func Fabric(edges []telemetry.Edge) string {
	things := map[telemetry.Entity]bool{}
	speeds := map[int64]bool{}
	for i := range edges {
		e := &edges[i]
		for _, x := range []telemetry.Entity{e.From, e.To} {
			things[x] = true
			for _, outer := range prefixContainers(x) {
				things[outer] = true
			}
		}
		if v, err := strconv.ParseFloat(e.Attr(telemetry.AttrSpeed), 64); err == nil && e.Relation == telemetry.Connects {
			speeds[int64(v/1e9)] = true
		}
	}
	count := map[telemetry.Kind]int{}
	for x := range things {
		count[x.Kind]++
	}
	return fmt.Sprintf("%d switches, %d nodes, %s", count[telemetry.Switch], count[telemetry.Node], speedList(speeds))
}

func speedList(speeds map[int64]bool) string {
	var gs []int64
	for g := range speeds {
		gs = append(gs, g)
	}
	slices.Sort(gs)
	var names []string
	for _, g := range gs {
		names = append(names, strconv.FormatInt(g, 10)+"G")
	}
	if names == nil {
		return "unknown speed"
	}
	return strings.Join(names, "/")
}

func (c *Case) class() string {
	return cmp.Or(c.Class, c.Truth.Class, "unlabelled")
}

func (c *Case) fabric() string {
	return cmp.Or(c.Fabric, Fabric(c.Edges))
}

// final returns the highest revision of each incident, by opening, then ID.
func (c *Case) final() []explain.Incident {
	best := map[string]int{}
	var out []explain.Incident
	for _, inc := range c.Incidents {
		i, seen := best[inc.ID]
		switch {
		case !seen:
			best[inc.ID] = len(out)
			out = append(out, inc)
		case inc.Revision >= out[i].Revision:
			out[i] = inc
		}
	}
	slices.SortStableFunc(out, func(a, b explain.Incident) int {
		return cmp.Or(cmp.Compare(a.Opened, b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return orEmpty(out)
}

// published returns when an incident was first published as one.
func (c *Case) published(inc *explain.Incident) telemetry.Time {
	if t, ok := c.Published[inc.ID]; ok {
		return t
	}
	return inc.Opened
}

// closed returns when an incident ended; one still open ends with the
// recording.
func (c *Case) closed(inc *explain.Incident) telemetry.Time {
	if inc.Resolved == nil {
		return max(c.End, inc.Opened)
	}
	return *inc.Resolved
}

// grace is how long after a fault's end an incident may still open for it.
const grace = 60 * telemetry.Duration(1e9)

// window returns the interval in which an incident must live to be matched
// with f.
func (c *Case) window(f *Fault) telemetry.Interval {
	end := f.End
	if end == 0 {
		end = max(c.End, f.Onset)
	}
	return telemetry.Interval{Earliest: f.Onset, Latest: end.Add(grace)}
}

// faultEnd returns the end of f, which is the recording's where none is stated.
func (c *Case) faultEnd(f *Fault) telemetry.Time {
	return c.window(f).Latest.Add(-grace)
}

// healthy returns the seconds of the recording outside the windows of faults and
// risks. A benign change is part of healthy operation, and every incident that is
// published during one is false; its time is therefore healthy time.
func (c *Case) healthy() float64 {
	var spans []telemetry.Interval
	for i := range c.Truth.Faults {
		if f := &c.Truth.Faults[i]; f.Expect != ExpectBenign {
			spans = append(spans, c.window(f))
		}
	}
	slices.SortFunc(spans, func(a, b telemetry.Interval) int { return cmp.Compare(a.Earliest, b.Earliest) })
	var total telemetry.Duration
	at := c.Start
	for _, s := range spans {
		total += max(0, min(s.Earliest, c.End).Sub(at))
		at = max(at, s.Latest)
	}
	total += max(0, c.End.Sub(at))
	return total.Seconds()
}

// jobsOf returns the jobs that an incident names: those of its last revision, or
// of all revisions where the last names none.
func (c *Case) jobsOf(inc *explain.Incident) []telemetry.Entity {
	if len(inc.Impact.Jobs) == 0 {
		return c.Affected[inc.ID]
	}
	var out []telemetry.Entity
	for i := range inc.Impact.Jobs {
		out = append(out, inc.Impact.Jobs[i].Job)
	}
	return out
}
