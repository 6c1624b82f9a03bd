package receive

import (
	"fmt"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/telemetry"
)

// site is a receiver in front of an engine, with one clock for both.
type site struct {
	*post
	t      *testing.T
	now    time.Time
	runner *engine.Runner
	at     uint64
}

func newSite(t *testing.T) *site {
	t.Helper()
	r, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, now: noon, runner: r}
	s.post = open(t, Config{Now: func() time.Time { return s.now }})
	return s
}

// second lets a second pass: what was posted in it, then the tick that ends it.
func (s *site) second() {
	s.mu.Lock()
	records := s.records
	s.records = nil
	s.mu.Unlock()
	s.now = s.now.Add(time.Second)
	records = append(records, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: telemetry.Time(s.now.UnixNano())}})
	for _, r := range records {
		s.at++
		if _, err := s.runner.Apply(s.at, r); err != nil {
			s.t.Fatal(err)
		}
	}
}

// report posts one step that ends now.
func (s *site) report(seconds float64, more string) {
	body := fmt.Sprintf(`{"steps":[{"end":%q,"seconds":%g%s}]}`, s.now.Format(time.RFC3339Nano), seconds, more)
	if status, answer := s.send("/api/v1/jobs/train/steps", body); status != 202 {
		s.t.Fatalf("%d %s", status, answer)
	}
}

func (s *site) states() (out []string) {
	for _, in := range s.runner.Incidents() {
		out = append(out, in.Impact.Jobs[0].State)
	}
	return out
}

func (s *site) train(steps int) {
	for range steps {
		s.report(1, "")
		s.second()
	}
}

func TestTheEngineTakesReportsAsSteps(t *testing.T) {
	s := newSite(t)
	s.train(60)
	if got := s.states(); len(got) != 0 {
		t.Fatalf("a healthy job: %v", got)
	}
	for range 20 {
		s.second()
		s.second()
		s.report(2, "")
	}
	if got := s.states(); len(got) != 1 || got[0] != "slow" {
		t.Errorf("a slow job: %v", got)
	}
}

func TestALongEvaluationIsNoSlowStep(t *testing.T) {
	s := newSite(t)
	s.train(60)
	for range 90 {
		s.report(1, `,"phase":"eval"`)
		s.second()
	}
	s.train(60)
	if got := s.states(); len(got) != 0 {
		t.Errorf("incidents: %v", got)
	}
}

func TestACheckpointThatIsAnnouncedIsNoStall(t *testing.T) {
	s := newSite(t)
	s.train(60)
	for range 3 {
		s.send("/api/v1/events", fmt.Sprintf(`[{"entity":"job:train","time":%q,"name":"checkpoint_started"}]`, s.now.Format(time.RFC3339Nano)))
		for range 25 {
			s.second()
		}
		s.report(25, `,"phase":"checkpoint"`)
		s.train(30)
	}
	if got := s.states(); len(got) != 0 {
		t.Errorf("incidents: %v", got)
	}
}

// TestSparseReports: a job that reports every tenth step, as their mean, is
// healthy, and is slow when the mean rises.
func TestSparseReports(t *testing.T) {
	s := newSite(t)
	for range 30 {
		for range 10 {
			s.second()
		}
		s.report(1, `,"count":10`)
	}
	s.second()
	if got := s.states(); len(got) != 0 {
		t.Fatalf("a healthy job: %v", got)
	}
	for range 6 {
		for range 15 {
			s.second()
		}
		s.report(1.5, `,"count":10`)
	}
	s.second()
	if got := s.states(); len(got) != 1 || got[0] != "slow" {
		t.Errorf("a slow job: %v", got)
	}
}
