package survey

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Sight is how well a fault can be seen on a site.
type Sight string

// The sights of a fault.
const (
	Clear    Sight = "clear"    // everything that it needs is received
	Confused Sight = "confused" // it is seen, and cannot be distinguished from another
	Blind    Sight = "blind"    // what must be seen of it is not received
	Nowhere  Sight = "nowhere"  // the site has nothing that could have it
)

// Fault is how well a signature's fault can be seen.
type Fault struct {
	Signature string           `json:"signature"`
	Domain    telemetry.Domain `json:"domain"`
	Sight     Sight            `json:"sight"`
	Missing   []Want           `json:"missing"`
}

// Want is a metric that would make a fault visible, or distinguish it from another.
type Want struct {
	Metric    string         `json:"metric"` // or the name of an event
	On        telemetry.Kind `json:"on"`
	Entities  int            `json:"entities"` // that show it
	Of        int            `json:"of"`       // that there are
	WouldTell string         `json:"would_tell"`
}

// fault judges the received telemetry by what a signature needs.
func fault(f *Facts, s *explain.Signature) Fault {
	out := Fault{Signature: s.Name, Domain: s.Domain, Sight: Clear, Missing: []Want{}}
	if !slices.ContainsFunc(s.Roots, func(k telemetry.Kind) bool { return f.Kinds[k] > 0 }) {
		out.Sight = Nowhere
		return out
	}
	for _, n := range s.Needs {
		if w := want(f, string(n.Metric), []telemetry.Kind{n.On}); w != nil {
			w.WouldTell = n.WouldTell
			out.Missing, out.Sight = append(out.Missing, *w), Confused
		}
	}
	for i := range s.Features {
		c := &s.Features[i]
		if !c.Required || c.Reading == nil || c.Reading.Metric == "" {
			continue
		}
		if w := want(f, string(c.Reading.Metric), c.Reading.Kinds(s.Roots)); w != nil && w.Entities == 0 {
			w.WouldTell = s.Name + " at all"
			out.Missing, out.Sight = append(out.Missing, *w), Blind
		}
	}
	return out
}

// want returns what is missing of a metric, nil if at least half of a kind report
// it or there is no such entity. Of several kinds one is enough.
func want(f *Facts, metric string, kinds []telemetry.Kind) *Want {
	var worst *Want
	for _, k := range kinds {
		of := f.Kinds[k]
		if of == 0 {
			continue
		}
		n := f.has(k, telemetry.MetricName(metric))
		if 2*n >= of { // some are always out
			return nil
		}
		if worst == nil || n > worst.Entities {
			worst = &Want{Metric: metric, On: k, Entities: n, Of: of}
		}
	}
	return worst
}
