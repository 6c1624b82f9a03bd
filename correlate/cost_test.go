package correlate_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/rules/scenario"
	"github.com/quintet-dc/quintet/telemetry"
)

const hour = telemetry.Duration(3600e9)

// played plays a scenario, calls look after each tick, and returns the engine
// with the newest revision of each incident.
func played(t *testing.T, text string, look func(*correlate.Engine)) (*correlate.Engine, map[string]explain.Incident) {
	t.Helper()
	s, err := scenario.Parse("costs", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e := standard(t)
	var all []explain.Incident
	for _, r := range s.Records() {
		all = append(all, e.Step(r).Incidents...)
		if r.Kind == telemetry.TickRecord && look != nil {
			look(e)
		}
	}
	return e, latest(all)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestTheLedgerAgreesWithTheIncidents, at every tick with the open ones and in
// the end with those that are over: a nic stops two jobs, twice.
func TestTheLedgerAgreesWithTheIncidents(t *testing.T) {
	compared, over := 0, false
	e, incidents := played(t, storms(400, 90, 240), func(e *correlate.Engine) {
		open := 0.0
		for _, in := range e.Live() {
			for _, j := range in.Impact.Jobs {
				open += j.GPUSecondsLost
			}
		}
		all, err := e.Losses(24*hour, telemetry.Entity{})
		if err != nil {
			t.Fatal(err)
		}
		if all.Lost < open-1e-9 {
			t.Fatalf("the open incidents cost %v, the ledger holds %v", open, all.Lost)
		}
		if over = over || open == 0 && compared > 0; !over && open > 0 {
			near(t, "open", all.Lost, open)
			compared++
		}
	})
	if compared == 0 {
		t.Fatal("nothing was ever lost")
	}
	want := 0.0
	for _, in := range incidents {
		for _, j := range in.Impact.Jobs {
			want += j.GPUSecondsLost
		}
	}
	got, err := e.Losses(24*hour, telemetry.Entity{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Lost < want/2 || got.Lost > want*2 {
		t.Errorf("%v in the ledger, %v in the incidents", got.Lost, want)
	}
	near(t, "network", got.Domains[2].Lost, got.Lost)
	if len(got.Jobs) != 2 || len(got.Causes) != 1 || got.Causes[0].Root.String() != "nic:h2/nic0" || got.Causes[0].Signature != "pfc-storm" {
		t.Errorf("jobs %+v, causes %+v", got.Jobs, got.Causes)
	}
	// Two nodes a job, one GPU each, from the first grid to the last.
	for _, j := range got.Jobs {
		if j.Available == nil || *j.Available < 2*300 || *j.Available > 2*500 || j.Lost > *j.Available {
			t.Errorf("%v lost %v of %v", j.Job, j.Lost, j.Available)
		}
	}
	m, err := e.Coupling(24 * hour)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "coupling of network to software", m.Coupling[2][0], got.Lost-m.Unlinked)
	if m.Coupling[2][0] == 0 || m.Lag[2][0] == nil {
		t.Errorf("coupling %v, lags %v", m.Coupling, m.Lag)
	}
}
