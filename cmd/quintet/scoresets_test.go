package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay/evaluation"
)

// scored runs quintet score over sets and returns the rows by name, without the
// processor time.
func scored(t *testing.T, args ...string) map[string]evaluation.Row {
	t.Helper()
	var out bytes.Buffer
	if code := app().Run(&cli.Shell{Ctx: t.Context(), Out: &out, Err: io.Discard}, append([]string{"score", "--json"}, args...)); code != cli.Sound {
		t.Fatalf("%v: exit %d", args, code)
	}
	r, err := evaluation.ReadResult(&out)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]evaluation.Row{}
	for _, row := range r.Sets {
		if row.Figures.CPU == nil || *row.Figures.CPU <= 0 {
			t.Errorf("%s: no processor time", row.Set)
		}
		row.Figures.CPU = nil
		rows[row.Set] = row
	}
	return rows
}

// Neither the order of sets nor how many recordings are replayed at once changes
// a figure.
func TestScoreSetsDoNotDependOnOrderOrWorkers(t *testing.T) {
	const a, b = "a=../../testdata/roce/*-2", "b=../../testdata/roce/ctl*:coarsen=1,10"
	want := scored(t, "--set", a, "--set", b, "--workers", "1")
	got := scored(t, "--set", b, "--set", a, "--workers", "4")
	if len(want) != 3 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// The recordings of site-b that are part of the project are scored as traces.
func TestScoreSetOfTraces(t *testing.T) {
	rows := scored(t, "--set", "site-b=../../testdata/site-b")
	if f := rows["site-b"].Figures; f.Cases != 8 || f.Faults != 6 || f.HealthyHours < 1 {
		t.Errorf("got %+v", f)
	}
}

// A recording that cannot be replayed takes its own set with it, and no other.
func TestScoreSetWithADamagedRecording(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "case")
	if err := os.CopyFS(damaged, os.DirFS("../../testdata/roce/ecmp-2")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "topology.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	sh := &cli.Shell{Ctx: t.Context(), Out: &out, Err: &log}
	if code := app().Run(sh, []string{"score", "--json", "--set", "bad=" + damaged, "--set", "good=../../testdata/roce/healthy-2"}); code != cli.Wrong {
		t.Fatalf("exit %d: %s", code, log.String())
	}
	r, err := evaluation.ReadResult(&out)
	if err != nil {
		t.Fatal(err)
	}
	bad, good := r.Sets[0], r.Sets[1]
	if !strings.Contains(bad.Absent, damaged) || !strings.Contains(log.String(), damaged) {
		t.Errorf("absent because %q, reported %q: want the name of the recording", bad.Absent, log.String())
	}
	if good.Absent != "" || good.Figures.Cases == 0 {
		t.Errorf("the other set: %+v", good)
	}
}
