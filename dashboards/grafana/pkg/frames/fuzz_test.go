package frames

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
)

// Any response of the right types gives frames that can be sent: every field has as
// many rows as the others.
func FuzzFrames(f *testing.F) {
	seeds, err := filepath.Glob("../plugin/testdata/api/*.json")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, s := range seeds {
		b, err := os.ReadFile(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"incidents":[{"chain":[{"entity":""},{"entity":"a","from":"b"}]}],"chain":[{}]}`))
	from := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	to := from.Add(time.Hour)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, made := range [][]*data.Frame{ofIncidents(b, to), ofCosts(b, from, to), ofSite(b, from, to)} {
			for _, k := range made {
				if _, err := k.RowLen(); err != nil {
					t.Fatalf("frame %s: %v", k.Name, err)
				}
				if _, err := k.MarshalArrow(); err != nil {
					t.Fatalf("frame %s: %v", k.Name, err)
				}
			}
		}
	})
}

func ofIncidents(b []byte, to time.Time) (out []*data.Frame) {
	var list client.IncidentList
	if json.Unmarshal(b, &list) == nil {
		out = append(out, Incidents(list.Incidents, "http://q"), Annotations(list.Incidents, to), OpenIncidents(list.Incidents))
		for i := range list.Incidents {
			out = append(out, Chain(&list.Incidents[i], "")...)
		}
	}
	var one client.Incident
	if json.Unmarshal(b, &one) == nil {
		out = append(out, Chain(&one, "http://q")...)
	}
	var curves client.Picture
	if json.Unmarshal(b, &curves) == nil {
		out = append(out, Curves(&curves)...)
	}
	return out
}

func ofCosts(b []byte, from, to time.Time) (out []*data.Frame) {
	var l client.Losses
	if json.Unmarshal(b, &l) == nil {
		out = append(out, LossesByCause(&l), LossesByJob(&l), LossesByDomain(&l))
		if f, err := LossesByDay(&l, from, to); err == nil {
			out = append(out, f)
		}
		if f, err := LossRate(&l); err == nil {
			out = append(out, f)
		}
	}
	var budgets client.Budgets
	if json.Unmarshal(b, &budgets) == nil {
		for _, k := range append(budgets.Jobs, budgets.Fleet) {
			out = append(out, BudgetWaterfall(&k), BudgetWide(&k))
		}
	}
	var bottlenecks client.Bottlenecks
	if json.Unmarshal(b, &bottlenecks) == nil {
		out = append(out, Bottlenecks(&bottlenecks))
	}
	return out
}

func ofSite(b []byte, from, to time.Time) (out []*data.Frame) {
	var topology client.Topology
	if json.Unmarshal(b, &topology) == nil {
		out = append(append(out, Topology(&topology, "")...), Topology(&topology, "nic:h9/nic0")...)
	}
	var jobs struct {
		Jobs []client.Job `json:"jobs"`
	}
	if json.Unmarshal(b, &jobs) == nil {
		out = append(append(out, Jobs(jobs.Jobs, "")), Steps(jobs.Jobs, from, to)...)
	}
	var coverage client.SourceList
	if json.Unmarshal(b, &coverage) == nil {
		out = append(append(out, Coverage(&coverage, to)), Timeline(&coverage, from, to)...)
	}
	return out
}
