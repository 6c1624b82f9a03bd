package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// openAgainWithin is how long a resolved incident may be opened again: ten
	// minutes, and a little more, since ticks and the stream are not read at one instant.
	openAgainWithin = telemetry.Duration(11 * time.Minute)
	// maxClaimIncidents and maxClaimBytes bound what a claim carries: open
	// incidents first, then the newest.
	maxClaimIncidents = 2048
	maxClaimBytes     = 4 << 20
	readTimeout       = 5 * time.Minute
)

// prepare makes a claim over the one in force, with what was published so far.
// last is the sequence of the newest revision that it knows of.
func (h *herald) prepare(ctx context.Context, s status, over string) (c engine.Claim, last uint64, err error) {
	version, rules := h.cfg.identity()
	c = engine.Claim{Engine: version, Rules: rules, Replica: h.cfg.Name, Over: over, From: s.from}
	own := map[string]bool{}
	err = h.do(ctx, func(o *owner) {
		for _, in := range o.runner.Incidents() {
			if in.State == explain.StateOpen {
				own[in.ID] = true
			}
		}
	})
	if err != nil {
		return c, 0, err
	}
	first, last, err := h.cfg.Bus.IncidentBounds(ctx)
	if err != nil {
		return c, 0, err
	}
	if last == 0 {
		c.Whole = s.whole && over == ""
		return c, 0, nil
	}
	if first <= last {
		r := reading{last: last, since: s.tick.Add(-openAgainWithin), own: own, published: map[string]explain.Incident{}}
		if c.Incidents, err = r.run(ctx, h.cfg.Bus); err != nil {
			return c, 0, fmt.Errorf("read what is published: %w", err)
		}
	}
	if n := len(c.Incidents); n > len(fit(c.Incidents)) {
		c.Incidents = fit(c.Incidents)
		h.log.Error("more incidents are open than a claim carries", "open", n, "carried", len(c.Incidents))
		h.count.waitingLost.Add(n - len(c.Incidents))
	}
	return c, last, nil
}

// reading is one pass through the stream of incidents.
type reading struct {
	last      uint64
	since     telemetry.Time  // what was resolved before is over for good
	own       map[string]bool // what this engine has open under the same name
	published map[string]explain.Incident
}

var errRead = errors.New("all is read")

// run returns the newest revision of each incident that is open, was resolved a
// short while ago, or is open to this engine; the most informative first.
func (r *reading) run(ctx context.Context, b *bus.Bus) ([]explain.Incident, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	// To the end of the stream rather than to a sequence: its last entry may be one
	// that is not handed over.
	if err := b.Incidents().Read(ctx, r.revision); err != nil && !errors.Is(err, errRead) {
		return nil, err
	}
	out := slices.Collect(maps.Values(r.published))
	slices.SortFunc(out, func(a, b explain.Incident) int {
		return cmp.Or(-cmp.Compare(boolRank(a.State == explain.StateOpen), boolRank(b.State == explain.StateOpen)),
			cmp.Compare(b.Updated, a.Updated), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *reading) revision(rev bus.Revision) error {
	var in explain.Incident
	err := json.Unmarshal(rev.Data, &in)
	was, known := r.published[rev.ID]
	switch {
	case err != nil || in.ID != rev.ID || in.Revision != rev.Number: // not written by an engine
	case known && was.Revision > in.Revision:
	case in.State == explain.StateOpen || r.own[in.ID] || in.Resolved != nil && *in.Resolved >= r.since:
		r.published[rev.ID] = in
	default:
		delete(r.published, rev.ID)
	}
	if rev.Sequence >= r.last {
		return errRead
	}
	return nil
}

// fit returns as many of the first incidents as a claim carries.
func fit(all []explain.Incident) []explain.Incident {
	size := 0
	for n := range all {
		b, err := engine.Canonical(&all[n])
		if size += len(b) + 1; err != nil || n >= maxClaimIncidents || size > maxClaimBytes {
			return all[:n]
		}
	}
	return all
}
