package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestCheckData: what was stored is whole; a byte of the disk changes below a
// snapshot, another below the log, and both are named.
func TestCheckData(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	storeSomething(ctx, t, dir)
	check := func() (string, error) {
		var out bytes.Buffer
		err := (&checkData{Dir: dir}).Run(&cli.Shell{Ctx: ctx, Out: &out, Err: &out})
		return out.String(), err
	}
	out, err := check()
	if err != nil || !strings.Contains(out, "log: 100 entries, positions 1 to 100, 0 missing\nsnapshots: 2 of 2 are whole\n") {
		t.Fatalf("whole: %v\n%s", err, out)
	}
	spoil(t, dir, "QSNAP\r\n")
	out, err = check()
	if !errors.Is(err, cli.Exit(cli.Wrong)) || !strings.Contains(out, "snapshots: 1 of 2 are whole") {
		t.Errorf("a damaged snapshot: %v\n%s", err, out)
	}
	spoil(t, dir, "note 50")
	out, err = check()
	if !errors.Is(err, cli.Exit(cli.Wrong)) || !strings.Contains(out, "log: 99 entries, positions 1 to 100, 1 missing") {
		t.Errorf("a damaged log: %v\n%s", err, out)
	}
}

// storeSomething makes a site's data with a hundred records and two snapshots.
func storeSomething(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	s, err := broker.Start(ctx, broker.Config{Dir: dir, Site: "site"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(ctx, bus.Config{Site: "site", InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	version, rules := runner.Identity()
	for i := range 100 {
		r := &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: telemetry.Entity{Kind: telemetry.Node, Name: "n1"},
			At: telemetry.Time(i + 1), Received: telemetry.Time(i + 1), Name: "xid", Text: "note " + string(rune('0'+i/10)) + string(rune('0'+i%10)), Source: telemetry.Source{Collector: "x"}}}
		if err := b.Append(ctx, "x", r); err != nil {
			t.Fatal(err)
		}
		if _, _, err := runner.ApplyFrom(uint64(i+1), "x", r); err != nil {
			t.Fatal(err)
		}
		if i%50 == 49 {
			data, err := runner.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if err := b.PutSnapshot(ctx, bus.SnapshotInfo{Position: uint64(i + 1), Tick: telemetry.Time(i + 1), Engine: version, Rules: rules}, data); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// spoil changes a byte of the first mark in the log's files.
func spoil(t *testing.T, dir, mark string) {
	t.Helper()
	var found bool
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".blk" || found {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := bytes.Index(b, []byte(mark))
		if at < 0 {
			return nil
		}
		found = true
		b[at+2] ^= 1
		return os.WriteFile(path, b, 0o600)
	})
	if err != nil || !found {
		t.Fatalf("nothing to damage with %q: %v", mark, err)
	}
}
