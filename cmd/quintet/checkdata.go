package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// checkData reports which of a stopped site's data is intact.
type checkData struct {
	Dir    string `arg:"" help:"The data folder of the process that holds the log. The service must be stopped: one process holds a log."`
	Config string `placeholder:"FILE" help:"The configuration of the site, where it has another name than the default."`
}

// snapshotTimeout bounds the reading of one snapshot.
const snapshotTimeout = 30 * time.Second

// Run reads everything, prints a line for each part, and exits with 1 where something
// is damaged.
func (c *checkData) Run(sh *cli.Shell) error {
	if _, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("check data: %w", err)
	}
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return err
	}
	collect.Override(&file.Data, c.Dir)
	b, done, err := pipeline.OpenLog(sh.Ctx, file, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("check data: %w", err)
	}
	defer done()
	v := &verdict{sh: sh}
	for _, part := range []func(context.Context, *bus.Bus) error{v.log, v.snapshots, v.revisions} {
		if err := part(sh.Ctx, b); err != nil {
			return fmt.Errorf("check data: %w", err)
		}
	}
	if err := v.pinned(filepath.Join(c.Dir, "incidents")); err != nil {
		return fmt.Errorf("check data: %w", err)
	}
	return v.end()
}

// log reads every entry of the log.
func (v *verdict) log(ctx context.Context, b *bus.Bus) error {
	state, err := b.State(ctx)
	if err != nil {
		return err
	}
	entries, malformed, lost, last := 0, 0, uint64(0), state.First-1
	err = b.Slice(ctx, bus.Span{}, func(e bus.Entry) error {
		if n := e.Position - last - 1; n > 0 {
			lost += n
			v.fail(fmt.Errorf("log: positions %d to %d are missing", last+1, e.Position-1))
		}
		last = e.Position
		entries++
		if e.Record == nil {
			malformed++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if last < state.Last {
		lost += state.Last - last
		v.fail(fmt.Errorf("log: positions %d to %d are missing", last+1, state.Last))
	}
	if malformed > 0 {
		v.doubt("log: %d entries are no records", malformed)
	}
	fmt.Fprintf(v.sh.Out, "log: %d entries, positions %d to %d, %d missing\n", entries, state.First, state.Last, lost)
	return nil
}

// snapshots reads every snapshot.
func (v *verdict) snapshots(ctx context.Context, b *bus.Bus) error {
	list, err := b.Snapshots(ctx)
	if err != nil {
		return err
	}
	whole := 0
	for _, i := range list {
		once, cancel := context.WithTimeout(ctx, snapshotTimeout)
		data, err := b.Snapshot(once, i)
		cancel()
		if err == nil {
			_, err = engine.Gate(data) // reads all of it
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, engine.ErrSnapshotEngine):
			v.doubt("snapshot of tick %s: %v", i.Tick, err)
		case err != nil:
			v.fail(fmt.Errorf("snapshot of tick %s, position %d: %w", i.Tick, i.Position, err))
		default:
			whole++
		}
	}
	fmt.Fprintf(v.sh.Out, "snapshots: %d of %d are whole\n", whole, len(list))
	return nil
}

// revisions reads the streams of incidents and alerts.
func (v *verdict) revisions(ctx context.Context, b *bus.Bus) error {
	for _, stream := range []struct {
		name string
		of   *bus.Revisions
		body func([]byte) error
	}{
		{"incidents", b.Incidents(), func(d []byte) error { return json.Unmarshal(d, &explain.Incident{}) }},
		{"alerts", b.Alerts(), func(d []byte) error { return json.Unmarshal(d, &map[string]any{}) }},
	} {
		n := 0
		err := stream.of.Read(ctx, func(r bus.Revision) error {
			n++
			if err := stream.body(r.Data); err != nil {
				v.fail(fmt.Errorf("%s: %s revision %d, sequence %d: %w", stream.name, r.ID, r.Number, r.Sequence, err))
			}
			return nil
		})
		if err != nil {
			return err
		}
		foreign, err := stream.of.Foreign(ctx)
		if err != nil {
			return err
		}
		if len(foreign) > 0 {
			v.fail(fmt.Errorf("%s: %d entries were not written by a process of the site that may, or were changed since: quintet repair shows them", stream.name, len(foreign)))
		}
		fmt.Fprintf(v.sh.Out, "%s: %d revisions\n", stream.name, n)
	}
	return nil
}

// pinned reads the traces that are kept with incidents.
func (v *verdict) pinned(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n := 0
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".qtrace" {
			continue
		}
		n++
		if err := v.trace(filepath.Join(dir, e.Name())); err != nil {
			v.fail(fmt.Errorf("%s: %w", e.Name(), err))
		}
	}
	fmt.Fprintf(v.sh.Out, "evidence of incidents: %d traces\n", n)
	return nil
}
