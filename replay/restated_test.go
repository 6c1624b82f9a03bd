package replay_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// restatements are other ways to state the same site, by what they do to its edges.
var restatements = map[string]func(edges []*telemetry.Edge) []*telemetry.Edge{
	"cables from their other ends": func(edges []*telemetry.Edge) []*telemetry.Edge {
		for _, e := range edges {
			if e.Relation == telemetry.Connects {
				e.From, e.To = e.To, e.From
			}
		}
		return edges
	},
	"jobs by their GPUs": func(edges []*telemetry.Edge) (out []*telemetry.Edge) {
		for _, e := range edges {
			gpus := gpusIn(e.To, edges)
			if e.Relation != telemetry.Runs || e.From.Kind != telemetry.Job || len(gpus) == 0 {
				out = append(out, e)
				continue
			}
			for _, gpu := range gpus {
				one := *e
				one.To = gpu
				out = append(out, &one)
			}
		}
		return out
	},
	"without what names imply": func(edges []*telemetry.Edge) []*telemetry.Edge {
		return slices.DeleteFunc(edges, func(e *telemetry.Edge) bool {
			return e.Relation == telemetry.Contains && strings.HasPrefix(e.To.Name, e.From.Name+"/")
		})
	},
	"the last edge first": func(edges []*telemetry.Edge) []*telemetry.Edge {
		slices.Reverse(edges)
		return edges
	},
}

// gpusIn are the GPUs that edges state to be in a node.
func gpusIn(node telemetry.Entity, edges []*telemetry.Edge) (out []telemetry.Entity) {
	for _, e := range edges {
		if e.Relation == telemetry.Contains && e.From == node && e.To.Kind == telemetry.GPU {
			out = append(out, e.To)
		}
	}
	return out
}

// TestHowASiteIsStatedDoesNotMatter: the same cables, jobs and hosts, stated otherwise, give the
// same incidents.
func TestHowASiteIsStatedDoesNotMatter(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "site-b", "*.qtrace"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	changed, incidents := map[string]bool{}, 0
	for _, path := range paths {
		records := recordsOf(t, path)
		want := found(t, records)
		incidents += strings.Count(want, "\n")
		for _, name := range slices.Sorted(maps.Keys(restatements)) {
			other, differs := restated(records, restatements[name])
			changed[name] = changed[name] || differs
			if got := found(t, other); got != want {
				t.Errorf("%s, %s:\n%swant\n%s", filepath.Base(path), name, got, want)
			}
		}
	}
	if incidents < len(paths)/2 {
		t.Errorf("%d incidents in %d recordings", incidents, len(paths))
	}
	for name := range restatements {
		if !changed[name] {
			t.Errorf("%s: no recording is stated otherwise by it", name)
		}
	}
}

// restated are the records with the edges of each instant stated otherwise, and whether they are.
func restated(records []*telemetry.Record, with func([]*telemetry.Edge) []*telemetry.Edge) (out []*telemetry.Record, differs bool) {
	var edges []*telemetry.Edge
	flush := func() {
		before := fmt.Sprint(values(edges))
		after := with(edges)
		differs = differs || fmt.Sprint(values(after)) != before
		for _, e := range after {
			out = append(out, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: e})
		}
		edges = nil
	}
	for _, r := range records {
		if r.Kind == telemetry.EdgeRecord {
			e := *r.Edge
			edges = append(edges, &e)
			continue
		}
		if len(edges) > 0 {
			flush()
		}
		out = append(out, r)
	}
	return out, differs
}

func values(edges []*telemetry.Edge) (out []telemetry.Edge) {
	for _, e := range edges {
		out = append(out, *e)
	}
	return out
}

// found formats what is known of each incident in the end.
func found(t *testing.T, records []*telemetry.Record) string {
	t.Helper()
	var b strings.Builder
	for _, in := range judged(t, records).Incidents() {
		fmt.Fprintf(&b, "%s %s at %s, confidence %.2f, opened %v, %d jobs\n", in.State, in.Root.Signature, in.Root.Entity, in.Root.Confidence, in.Opened, len(in.Impact.Jobs))
	}
	return b.String()
}
