package replica

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// DefaultBeat is the interval at which a replica reports its presence.
const DefaultBeat = 10 * time.Second

// missedBeats is after how many missed beats a replica counts as gone.
const missedBeats = 3

// Config configures a replica.
type Config struct {
	Bus *bus.Bus // connected; its streams and buckets exist
	// Engine is the engine to run. Its Correlate.Rules is part of who it is.
	Engine engine.Config
	Name   string        // of this replica, unique in the site
	Beat   time.Duration // 10 s
	// Ended is how the process ended that ran this replica before, where it did not
	// stop in order; "" otherwise. It is raised as an alarm.
	Ended string

	Metrics *metrics.Set
	Logger  *slog.Logger

	// bend, if any, changes what is published: tests make replicas disagree.
	bend func(data []byte) []byte
}

func (c Config) withDefaults() Config {
	c.Beat = cmp.Or(c.Beat, DefaultBeat)
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error if c is invalid.
func (c Config) Validate() error {
	switch {
	case c.Bus == nil:
		return errors.New("no bus")
	case c.Name == "":
		return errors.New("no name")
	case c.Beat < 0:
		return fmt.Errorf("a beat of %v", c.Beat)
	}
	return nil
}

// identity returns the engine version and the rules of a replica's snapshots and
// claims.
func (c Config) identity() (version, rules string) {
	return correlate.Version, c.Engine.Correlate.Rules
}

func now() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }
