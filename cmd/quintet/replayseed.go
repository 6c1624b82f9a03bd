package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/telemetry"
)

// seed starts an empty log with the engine state with which the recording starts,
// and returns the tick of that state; zero where the recording has no such state,
// or one of another engine or other rules. Then the log has no history before its
// start either, as with quintet replay.
func (c *replayCommand) seed(ctx context.Context, log *bus.Bus, s *pipeline.Config) (telemetry.Time, error) {
	rec, err := replay.Open(c.Recording, replay.OpenConfig{SkipDamaged: true})
	if err != nil {
		return 0, err
	}
	defer rec.Close()
	snapshot, err := rec.Snapshot()
	if err != nil || snapshot == nil {
		return 0, err
	}
	_, meta, err := engine.Moved(snapshot, 0)
	if err != nil {
		return 0, err
	}
	runner, err := engine.New(s.Engine)
	if err != nil {
		return 0, err
	}
	if version, rules := runner.Identity(); meta.Engine != version || meta.Rules != rules {
		s.Logger.Warn("the recording's state is of another engine or of other rules: the page begins without it", "recording", c.Recording)
		return 0, nil
	}
	first, err := schemasBefore(rec, meta.Tick)
	if err != nil {
		return 0, err
	}
	first = append(first, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: meta.Tick}})
	if err := log.Append(ctx, "recording", first...); err != nil {
		return 0, err
	}
	return meta.Tick, begin(ctx, log, snapshot)
}

// schemasBefore are the schemas that are stated at or before a tick.
func schemasBefore(rec *replay.Recording, tick telemetry.Time) ([]*telemetry.Record, error) {
	var out []*telemetry.Record
	past := errors.New("past it")
	err := rec.Each(func(_ uint64, r *telemetry.Record) error {
		switch {
		case r.Kind == telemetry.SchemaRecord:
			out = append(out, r)
		case r.Kind == telemetry.TickRecord && r.Tick.At >= tick:
			return past
		}
		return nil
	})
	if errors.Is(err, past) {
		err = nil
	}
	return out, err
}

// begin puts a snapshot on the shelf as of the log's newest entry, which is its
// tick, and the incidents that it knows into their stream.
func begin(ctx context.Context, log *bus.Bus, snapshot []byte) error {
	_, last, err := log.Bounds(ctx)
	if err != nil {
		return err
	}
	moved, meta, err := engine.Moved(snapshot, last)
	if err != nil {
		return err
	}
	for i := range meta.Incidents {
		x := &meta.Incidents[i]
		b, err := engine.Canonical(x)
		if err != nil {
			return err
		}
		if _, _, err := log.PublishIncident(ctx, x.ID, x.Revision, b); err != nil {
			return fmt.Errorf("incident %s: %w", x.ID, err)
		}
	}
	return log.PutSnapshot(ctx, bus.SnapshotInfo{Position: last, Tick: meta.Tick, Engine: meta.Engine, Rules: meta.Rules}, moved)
}
