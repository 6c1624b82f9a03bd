package engine

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config is what a runner is made of.
type Config struct {
	// Correlate configures the engine. Its ForEach, where nil, is set to run on
	// Slices.
	Correlate correlate.Config
	// Slices is how many parts of a grid's work run side by side; one, the
	// default, starts no goroutine. It changes no answer (I8).
	Slices int
}

// New returns a runner whose engine has seen nothing.
func New(c Config) (*Runner, error) {
	if c.Slices < 0 || c.Slices > window.MaxSlices {
		return nil, fmt.Errorf("new engine: slices: %d: want 0 to %d", c.Slices, window.MaxSlices)
	}
	if c.Correlate.ForEach == nil {
		c.Correlate.ForEach = slicer(c.Slices).each
	}
	e, err := correlate.New(c.Correlate)
	if err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	return newRunner(&core{engine: e}, identity{version: correlate.Version, rules: c.Correlate.Rules}), nil
}

// Output returns what the last record brought about in addition to incidents: findings
// and counts. It is valid until the next Apply.
func (r *Runner) Output() correlate.Output {
	if c, ok := r.machine.(*core); ok {
		return c.last
	}
	return correlate.Output{}
}

// core is correlate's engine as a machine.
type core struct {
	engine *correlate.Engine
	last   correlate.Output
}

func (c *core) Step(r *telemetry.Record) []explain.Incident {
	c.last = c.engine.Step(r)
	return c.last.Incidents
}

func (c *core) WarmStart(open []explain.Incident) { c.engine.WarmStart(open) }

func (c *core) Snapshot(sink func([]byte)) { c.engine.Snapshot(sink) }
func (c *core) Restore(body []byte) error  { return c.engine.Restore(body) }
