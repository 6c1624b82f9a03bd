package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/telemetry"
)

// Grants that are written while the log is running are in the log soon after.
func TestStateGrants(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	file := config.Default()
	file.Data = t.TempDir()
	s := &service{c: Config{File: file, Process: "log", Roles: AllRoles(), Logger: slog.New(slog.DiscardHandler)}, metrics: metrics.NewSet()}
	if err := s.openLog(ctx); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	stating, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.stateGrants(stating) }()
	defer func() { stop(); <-done }()
	await := func(after uint64, want ...string) uint64 {
		t.Helper()
		var at uint64
		enough := errors.New("enough")
		err := s.bus.Follow(ctx, after, func(e bus.Entry) error {
			if e.Record == nil || e.Record.Kind != telemetry.ConfigRecord || e.Record.Config.Key != grants.Key {
				return nil
			}
			g, err := grants.Parse(e.Record.Config.Content)
			if err != nil {
				return err
			}
			at = e.Position
			if len(g.Processes) != len(want) {
				return nil
			}
			for i, p := range g.Processes {
				if p.Process != want[i] {
					t.Errorf("process %d is %q, want %q", i, p.Process, want[i])
				}
			}
			return enough
		})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		return at
	}
	if err := WriteGrant(file.Data, grants.Grant{Process: "n1", Nodes: []string{"n1"}}); err != nil {
		t.Fatal(err)
	}
	at := await(0, "n1")
	if err := WriteGrant(file.Data, grants.Grant{Process: "a.b", Nodes: []string{"n2"}}); err != nil {
		t.Fatal(err)
	}
	if err := AwaitGrants(ctx, file.Data); err != nil {
		t.Fatal(err)
	}
	_, last, err := s.bus.Bounds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if at = await(at, "a.b", "n1"); at > last {
		t.Errorf("the grant is at %d, and the log ended at %d when it was awaited", at, last)
	}
	if err := os.WriteFile(filepath.Join(file.Data, grantsFolder, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readGrants(file.Data); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("a damaged file: %v", err)
	}
	if err := WriteGrant(file.Data, grants.Grant{Process: "n1", Entities: []string{"leaf1"}}); err == nil {
		t.Error("a grant that makes no sense is written")
	}
}
