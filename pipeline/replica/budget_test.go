package replica

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestRunKeepsProcessesWithinTheirBudget: a host's collector states thousands of
// events. Those beyond its budget are refused, counted by process and named; the
// incident is the one that the recording gives without them, and another replica
// that begins with a snapshot gives the same.
func TestRunKeepsProcessesWithinTheirBudget(t *testing.T) {
	w := newWorld(t)
	ctx := within(t, time.Minute)
	c, err := grants.Grants{Processes: []grants.Grant{{Process: "flood", Nodes: []string{"flood"}, Budget: grants.Budget{Events: 1}}}}.Config(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.bus.Append(ctx, "", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c}); err != nil {
		t.Fatal(err)
	}
	r := w.start("a")
	r.publishes()
	flooding := w.join(broker.Collect("flood"))
	w.feed(0, 2000)
	last, ok, err := w.bus.LastTick(ctx)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var flood []*telemetry.Record
	for i := range 3000 {
		flood = append(flood, &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
			Entity: telemetry.Entity{Kind: telemetry.Node, Name: "flood"}, At: last, Received: last, Name: "xid", Text: fmt.Sprint(i), Source: telemetry.Source{Collector: "flood"}}})
	}
	if err := flooding.Append(ctx, "flood", flood...); err != nil {
		t.Fatal(err)
	}
	w.feed(2000, len(w.rec.log))
	r.read()
	w.same()
	const over = 3000 - 128
	var coverage Coverage
	w.ask(AskCoverage, "", &coverage)
	for _, p := range coverage.Processes {
		if p.Process == "flood" && p.Refused[grants.OverEvents] != over || p.Process != "flood" && len(p.Refused) > 0 {
			t.Errorf("Coverage: %+v", p)
		}
	}
	var report survey.Report
	w.ask(AskSurvey, "", &report)
	if row := report.Requirements[len(report.Requirements)-1]; row.ID != "budgets" || row.State != survey.Partly || !strings.Contains(row.Do, "flood: 2872 of events") {
		t.Errorf("survey: %+v", row)
	}
	if n := r.count(`quintet_replica_records_over_budget_total{process="flood",reason="events"}`); n != over {
		t.Errorf("%d records are counted as over budget, want %d", n, over)
	}
	r.stop()
	again := w.start("b")
	again.read()
	w.same()
}
