package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// page is what an extra writes.
func page(write func(putter)) string {
	var lines []string
	write(func(l labels.Labels, v float64) {
		text := fmt.Sprint(v)
		if value.IsStaleNaN(v) {
			text = "x"
		}
		lines = append(lines, l.String()+" "+text)
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func edge(text string) *telemetry.Record {
	f := strings.Fields(text)
	from, err := telemetry.ParseEntity(f[0])
	if err != nil {
		panic(err)
	}
	to, err := telemetry.ParseEntity(f[2])
	if err != nil {
		panic(err)
	}
	return &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: from, To: to, Relation: telemetry.Relation(f[1]), Source: "test"}}
}

// TestPlaces: what a job runs on and through, and what things belong to, of
// themselves and with what contains them; a job that ends is gone.
func TestPlaces(t *testing.T) {
	p := newPlaces(newCounters(metrics.NewSet()))
	for _, e := range []string{
		"node:n1 contains gpu:n1/0", "node:n1 contains gpu:n1/1", "node:n1 contains nic:n1/mlx5_0", "node:n1 contains nic:n1/mlx5_1",
		"gpu:n1/0 pairs nic:n1/mlx5_0", "rack:r1 contains node:n1", "row:w1 contains rack:r1", "pdu:p1 feeds rack:r1", "loop:l1 cools node:n1",
		"nic:n1/mlx5_0 member rail:0", "job:llama runs gpu:n1/0", "rank:big/3 runs node:n1", "port:leaf1/e1 connects nic:n1/mlx5_0",
	} {
		p.take(edge(e))
	}
	p.take(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: t0}})
	const want = `{__name__="quintet_job_info", job="big", kind="gpu", name="n1/0", node="n1"} 1
{__name__="quintet_job_info", job="big", kind="gpu", name="n1/1", node="n1"} 1
{__name__="quintet_job_info", job="big", kind="nic", name="n1/mlx5_0", node="n1"} 1
{__name__="quintet_job_info", job="big", kind="nic", name="n1/mlx5_1", node="n1"} 1
{__name__="quintet_job_info", job="big", kind="node", name="n1", node="n1"} 1
{__name__="quintet_job_info", job="llama", kind="gpu", name="n1/0", node="n1"} 1
{__name__="quintet_job_info", job="llama", kind="nic", name="n1/mlx5_0", node="n1"} 1
{__name__="quintet_job_info", job="llama", kind="node", name="n1", node="n1"} 1
{__name__="quintet_member_info", group="0", group_kind="rail", kind="nic", name="n1/mlx5_0"} 1
{__name__="quintet_member_info", group="l1", group_kind="loop", kind="gpu", name="n1/0"} 1
{__name__="quintet_member_info", group="l1", group_kind="loop", kind="gpu", name="n1/1"} 1
{__name__="quintet_member_info", group="l1", group_kind="loop", kind="nic", name="n1/mlx5_0"} 1
{__name__="quintet_member_info", group="l1", group_kind="loop", kind="nic", name="n1/mlx5_1"} 1
{__name__="quintet_member_info", group="l1", group_kind="loop", kind="node", name="n1"} 1
{__name__="quintet_member_info", group="p1", group_kind="pdu", kind="gpu", name="n1/0"} 1
{__name__="quintet_member_info", group="p1", group_kind="pdu", kind="gpu", name="n1/1"} 1
{__name__="quintet_member_info", group="p1", group_kind="pdu", kind="nic", name="n1/mlx5_0"} 1
{__name__="quintet_member_info", group="p1", group_kind="pdu", kind="nic", name="n1/mlx5_1"} 1
{__name__="quintet_member_info", group="p1", group_kind="pdu", kind="node", name="n1"} 1
{__name__="quintet_member_info", group="p1", group_kind="pdu", kind="rack", name="r1"} 1
{__name__="quintet_member_info", group="r1", group_kind="rack", kind="gpu", name="n1/0"} 1
{__name__="quintet_member_info", group="r1", group_kind="rack", kind="gpu", name="n1/1"} 1
{__name__="quintet_member_info", group="r1", group_kind="rack", kind="nic", name="n1/mlx5_0"} 1
{__name__="quintet_member_info", group="r1", group_kind="rack", kind="nic", name="n1/mlx5_1"} 1
{__name__="quintet_member_info", group="r1", group_kind="rack", kind="node", name="n1"} 1
{__name__="quintet_member_info", group="w1", group_kind="row", kind="gpu", name="n1/0"} 1
{__name__="quintet_member_info", group="w1", group_kind="row", kind="gpu", name="n1/1"} 1
{__name__="quintet_member_info", group="w1", group_kind="row", kind="nic", name="n1/mlx5_0"} 1
{__name__="quintet_member_info", group="w1", group_kind="row", kind="nic", name="n1/mlx5_1"} 1
{__name__="quintet_member_info", group="w1", group_kind="row", kind="node", name="n1"} 1
{__name__="quintet_member_info", group="w1", group_kind="row", kind="rack", name="r1"} 1`
	if got := page(func(put putter) { p.write(millis(t0), put) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	end := edge("job:llama runs gpu:n1/0")
	end.Edge.End = t0.Add(time.Second)
	p.take(end)
	got := page(func(put putter) { p.write(millis(t0.Add(10*time.Second)), put) })
	if n := strings.Count(got, `job="llama"`); n != 3 || strings.Count(got, " x") != 3 {
		t.Errorf("after the job's end:\n%s", got)
	}
	got = page(func(put putter) { p.write(millis(t0.Add(20*time.Second)), put) })
	if strings.Contains(got, "llama") || strings.Contains(got, " x") {
		t.Errorf("later:\n%s", got)
	}
}

// TestIncidents: an open incident is a series, with its cost; a resolved one ends.
func TestIncidents(t *testing.T) {
	i := newIncidents(Config{}.withDefaults(), newCounters(metrics.NewSet()))
	in := explain.Incident{ID: "inc-1", State: explain.StateOpen, Kind: explain.KindIncident, Severity: explain.SeverityWarning, Revision: 1,
		Root: explain.Root{Entity: telemetry.Entity{Kind: telemetry.NIC, Name: "h1/nic0"}, Domain: telemetry.Network, Signature: "slow-receiver"},
		Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: telemetry.Entity{Kind: telemetry.Job, Name: "train"}, GPUSecondsLost: 812},
			{Job: telemetry.Entity{Kind: telemetry.Job, Name: "other"}, GPUSecondsLost: 3}}}}
	hear := func() {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		i.handle(bus.Revision{ID: in.ID, Number: in.Revision, Data: b})
	}
	hear()
	const open = `{__name__="quintet_incident_gpu_seconds_lost", domain="network", incident="inc-1", job="other", root="nic:h1/nic0", signature="slow-receiver"} 3
{__name__="quintet_incident_gpu_seconds_lost", domain="network", incident="inc-1", job="train", root="nic:h1/nic0", signature="slow-receiver"} 812
{__name__="quintet_incident_open", domain="network", incident="inc-1", job="train", kind="incident", root="nic:h1/nic0", severity="warning", signature="slow-receiver"} 1`
	if got := page(func(put putter) { i.write(0, put) }); got != open {
		t.Errorf("got\n%s\nwant\n%s", got, open)
	}
	in.State, in.Revision = explain.StateResolved, 2
	hear()
	if got := page(func(put putter) { i.write(0, put) }); strings.Count(got, " x") != 3 {
		t.Errorf("resolved:\n%s", got)
	}
	if got := page(func(put putter) { i.write(0, put) }); got != "" {
		t.Errorf("later:\n%s", got)
	}
}
