package replica

import (
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestRunRefusesStatementsOfOthers: a host's collector states that the recording's
// job is under maintenance and has failed. It may do neither, and the incident is
// the one that the recording gives without it; another replica that begins with a
// snapshot gives the same.
func TestRunRefusesStatementsOfOthers(t *testing.T) {
	w := newWorld(t)
	ctx := within(t, time.Minute)
	job := incidents(t, w.rec.want)[0].Impact.Jobs[0].Job
	c, err := grants.Grants{Processes: []grants.Grant{{Process: "evil", Nodes: []string{"evil"}}}}.Config(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.bus.Append(ctx, "", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c}); err != nil {
		t.Fatal(err)
	}
	r := w.start("a")
	r.publishes()
	evil := w.join(broker.Collect("evil"))
	lie := func(at telemetry.Time) {
		t.Helper()
		var lies []*telemetry.Record
		for _, name := range []telemetry.EventName{telemetry.EventMaintenanceStarted, telemetry.EventJobFailed, telemetry.EventJobEnded} {
			lies = append(lies, &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: job, At: at, Received: at, Name: name, Source: telemetry.Source{Collector: "evil"}}})
		}
		if err := evil.Append(ctx, "evil", lies...); err != nil {
			t.Fatal(err)
		}
	}
	cuts := []int{0, 2000, 3300, 4400, len(w.rec.log)}
	for i := range len(cuts) - 1 {
		w.feed(cuts[i], cuts[i+1])
		last, ok, err := w.bus.LastTick(ctx)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if i < len(cuts)-2 {
			lie(last)
		}
	}
	r.read()
	w.same()
	var coverage Coverage
	w.ask(AskCoverage, "", &coverage)
	var evils []grants.ProcessState
	for _, p := range coverage.Processes {
		if p.Process == "evil" {
			evils = append(evils, p)
		}
	}
	if len(evils) != 1 || evils[0].Refused[grants.NoMaintenance] != 3 || evils[0].Refused[grants.NoJob] != 6 || evils[0].Grant == nil {
		t.Errorf("Coverage: %+v", evils)
	}
	var report survey.Report
	w.ask(AskSurvey, "", &report)
	if row := report.Requirements[len(report.Requirements)-2]; row.ID != "grants" || row.State != survey.Partly || !strings.Contains(row.Do, "evil: 6 of job, 3 of maintenance") {
		t.Errorf("survey: %+v", row)
	}
	if n := r.count(`quintet_replica_records_ungranted_total{reason="job"}`); n != 6 {
		t.Errorf("%d records are counted as refused, want 6", n)
	}
	r.stop()
	again := w.start("b")
	again.read()
	w.same()
}
