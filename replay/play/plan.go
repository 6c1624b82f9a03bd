package play

import (
	"errors"
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/telemetry"
)

// State is what a play needs to be continued after a kill. It is fixed before
// the first record is given; as JSON it is one small object.
type State struct {
	// Shift is what is added to every time of the recording: a whole number of
	// grids.
	Shift telemetry.Duration `json:"shift_ns"`
	// Began is the wall-clock time at which the play reached Live; from there on a
	// tick T is due at Began + (T − Live) / Speed.
	Began telemetry.Time `json:"began"`
	Live  telemetry.Time `json:"live"` // as moved
	Speed float64        `json:"speed"`
	// Raise is added to every frame's incarnation. It is 0 in a log that held
	// nothing, and there a frame keeps what it states. In one that was played into
	// before, the sources have restarted: else the log would take their frames
	// for those that it has.
	Raise uint64 `json:"raise"`
	// First is the recording's first instant: the state of another recording
	// is refused.
	First telemetry.Time `json:"first"`
}

// ErrState means that a state is of another recording, or of none.
var ErrState = errors.New("the state is not of this recording")

// span is what must be known of a recording before it is played.
type span struct {
	first, last telemetry.Time
	grid        telemetry.Duration
	// schemas reads all of the recording's schemas; nil where they come before
	// their frames anyway.
	schemas func() (map[telemetry.Fingerprint]*telemetry.Schema, error)
}

// look finds a recording's span and grid. A trace states its grid in a config
// record, which comes before its first tick; one that does not has the default.
func look(rec *replay.Recording) (span, error) {
	s := span{grid: telemetry.DefaultSiteConfig().Grid}
	s.first, s.last = rec.Span()
	if rec.Bundle != nil {
		s.grid = rec.Bundle.Site.Grid
		return s, nil
	}
	s.schemas = func() (map[telemetry.Fingerprint]*telemetry.Schema, error) { return schemas(rec.Path) }
	return s, again(rec.Path, func(r *telemetry.Record) bool {
		if r.Kind == telemetry.ConfigRecord && r.Config.Key == telemetry.ConfigSite {
			if c, err := telemetry.ParseSiteConfig(r.Config.Content); err == nil {
				s.grid = c.Grid
			}
		}
		return r.Kind != telemetry.TickRecord
	})
}

// schemas reads a recording through for its schemas.
func schemas(path string) (map[telemetry.Fingerprint]*telemetry.Schema, error) {
	all := map[telemetry.Fingerprint]*telemetry.Schema{}
	return all, again(path, func(r *telemetry.Record) bool {
		if r.Kind == telemetry.SchemaRecord {
			all[r.Schema.Fingerprint()] = r.Schema
		}
		return true
	})
}

var errEnough = errors.New("enough was read")

// again reads a trace from its beginning, concurrently with the one that is played, until
// fn wants no more. Damage ends the reading, too: the play comes upon it and
// says so.
func again(path string, fn func(*telemetry.Record) bool) error {
	rec, err := replay.Open(path, replay.OpenConfig{SkipDamaged: true})
	if err != nil {
		return err
	}
	defer rec.Close()
	_ = rec.Each(func(_ uint64, r *telemetry.Record) error {
		if !fn(r) {
			return errEnough
		}
		return nil
	})
	return nil
}

// plan fixes by how much times are moved and from when on the pace is kept.
func plan(c Config, s span, now telemetry.Time) (State, error) {
	if c.State != nil {
		return resume(c, s, now)
	}
	live := s.first.Add(min(max(c.From, 0), s.last.Sub(s.first)))
	shift := floor(now.Sub(live), s.grid)
	st := State{Shift: shift, Began: now, Live: live.Add(shift), Speed: c.Speed, First: s.first}
	if c.Last != 0 {
		st.Raise = uint64(max(now, 0) / telemetry.Time(time.Second))
	}
	if c.Last != 0 && s.first.Add(shift) <= c.Last {
		st.Shift = floor(c.Last.Sub(s.first), s.grid) + s.grid
		st.Live = now
	}
	return st, nil
}

// resume takes a state up again. Another speed holds from here on.
func resume(c Config, s span, now telemetry.Time) (State, error) {
	st := *c.State
	switch {
	case st.First != s.first:
		return st, fmt.Errorf("%w: it begins at %v, the recording at %v", ErrState, st.First, s.first)
	case st.Shift%s.grid != 0:
		return st, fmt.Errorf("%w: its shift of %v is no whole number of grids of %v", ErrState, st.Shift, s.grid)
	case st.Speed != c.Speed:
		st.Speed, st.Began, st.Live = c.Speed, now, max(st.Live, c.Last)
	}
	return st, nil
}

// floor returns the greatest multiple of grid that is no greater than d.
func floor(d, grid telemetry.Duration) telemetry.Duration {
	r := d % grid
	if r < 0 {
		r += grid
	}
	return d - r
}
