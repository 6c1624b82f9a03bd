package engine_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/telemetry"
)

// look asks for everything that people look at, as bytes.
func look(t *testing.T, r *engine.Runner) []byte {
	t.Helper()
	losses, err := r.Losses(attribute.UsualWindow, telemetry.Entity{})
	if err != nil {
		t.Fatal(err)
	}
	coupling, err := r.Coupling(attribute.UsualWindow)
	if err != nil {
		t.Fatal(err)
	}
	budgets, err := r.Budgets(attribute.UsualWindow, telemetry.Entity{})
	if err != nil {
		t.Fatal(err)
	}
	bottlenecks, err := r.Bottlenecks(attribute.UsualWindow)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal([]any{losses, coupling, budgets, bottlenecks, r.Jobs(), r.Live(), r.Sources(), r.Topology(correlate.TopologyQuery{Limit: 50}),
		r.Topology(correlate.TopologyQuery{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "train"}, Hops: 3, Limit: 50})})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLookingChangesNothing asks for every view between any two records: what
// is published, what is found and every bit of the state stay as they are, and
// a second look shows what the first did.
func TestLookingChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		looks, played := 0, &enginetest.Played{Runner: r}
		for i := range ref.Log {
			next, err := enginetest.Continue(r, ref.Log[i:i+1])
			if err != nil {
				t.Fatal(err)
			}
			played.Published, played.Findings = played.Published+next.Published, played.Findings+next.Findings
			if rnd.IntN(8) != 0 {
				continue
			}
			looks++
			if a, b := look(t, r), look(t, r); string(a) != string(b) {
				t.Fatalf("record %d: two looks differ", i+1)
			}
		}
		if looks < 100 {
			t.Fatalf("only %d looks", looks)
		}
		ref.equal(t, played)
		ref.sameState(t, played)
	})
}

// TestLiveIncidentsAreThePublishedOnesRefreshed: same id, same revision, same
// opening; what is refreshed moves on between two revisions.
func TestLiveIncidentsAreThePublishedOnesRefreshed(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		refreshed := 0
		for i := range ref.Log {
			if _, err := r.Apply(uint64(i+1), &ref.Log[i]); err != nil {
				t.Fatal(err)
			}
			if ref.Log[i].Kind != telemetry.TickRecord {
				continue
			}
			open := map[string]explain.Incident{}
			for _, in := range r.Incidents() {
				if in.State == explain.StateOpen {
					open[in.ID] = in
				}
			}
			live := r.Live()
			if len(live) != len(open) {
				t.Fatalf("record %d: %d live incidents, %d open", i+1, len(live), len(open))
			}
			for _, in := range live {
				was, ok := open[in.ID]
				if !ok || in.Revision != was.Revision || in.Opened != was.Opened || in.Updated < was.Updated || in.State != was.State {
					t.Fatalf("record %d: live %s.%d of %v, published %s.%d of %v", i+1, in.ID, in.Revision, in.Updated, was.ID, was.Revision, was.Updated)
				}
				if in.Updated > was.Updated && in.Impact.Jobs[0].GPUSecondsLost > was.Impact.Jobs[0].GPUSecondsLost {
					refreshed++
				}
			}
		}
		if refreshed == 0 {
			t.Error("no loss was ever refreshed between two revisions")
		}
	})
}

// TestJobsAgreeWithIncidents follows the degraded job through a recording: it is
// new, then healthy, then slow with its incident's id, then well again.
func TestJobsAgreeWithIncidents(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]int{}
		for i := range ref.Log {
			if _, err := r.Apply(uint64(i+1), &ref.Log[i]); err != nil {
				t.Fatal(err)
			}
			if ref.Log[i].Kind != telemetry.TickRecord {
				continue
			}
			live := map[string]bool{}
			for _, in := range r.Live() {
				live[in.ID] = true
			}
			for _, j := range r.Jobs() {
				states[j.State]++
				for _, id := range j.Incidents {
					if !live[id] {
						t.Fatalf("record %d: %v tells of %s, which is not live", i+1, j.Job, id)
					}
				}
				if j.State == "slow" && (j.Slowdown == nil || *j.Slowdown <= 1 || j.Usual == nil || j.Step == nil) {
					t.Fatalf("record %d: a slow job without figures: %+v", i+1, j)
				}
			}
		}
		for _, want := range []string{correlate.JobNew, "healthy", "slow"} {
			if states[want] == 0 {
				t.Errorf("never %s: %v", want, states)
			}
		}
		for _, s := range r.Sources() {
			if s.Series == 0 || s.Source.Collector == "" {
				t.Errorf("a source without a name or series: %+v", s)
			}
		}
	})
}
