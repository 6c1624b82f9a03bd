package engine

import (
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// The views below are the caller's to keep and to read anywhere, as long as the
// attributes of edges are only read. None changes an answer.

// Tick returns that of the newest tick that the engine took, zero before the first.
func (r *Runner) Tick() telemetry.Time { return r.tick }

// Jobs returns how every job does.
func (r *Runner) Jobs() []correlate.JobView {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Jobs()
	}
	return nil
}

// Fleet returns how the site's jobs do together.
func (r *Runner) Fleet() correlate.FleetView {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Fleet()
	}
	return correlate.FleetView{}
}

// Live returns the open incidents with the fields that are refreshed without a
// revision, under the number of the last one.
func (r *Runner) Live() []explain.Incident {
	c, ok := r.machine.(*core)
	if !ok {
		return nil
	}
	out := c.engine.Live()
	for i := range out {
		out[i] = keep(out[i])
	}
	return out
}

// Sources returns what is known of each source.
func (r *Runner) Sources() []window.SourceState {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Sources()
	}
	return nil
}

// Topology returns a part of the topology.
func (r *Runner) Topology(q correlate.TopologyQuery) correlate.TopologyView {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Topology(q)
	}
	return correlate.TopologyView{}
}

// Maintained returns what is under maintenance, in identity order.
func (r *Runner) Maintained() []telemetry.Entity {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Maintained()
	}
	return nil
}

// Gaps returns the intervals in which sources sent no data.
func (r *Runner) Gaps() []correlate.Gap {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Gaps()
	}
	return nil
}

// Holes returns what the log lost.
func (r *Runner) Holes() []telemetry.Hole {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Holes()
	}
	return nil
}

// Losses states what was lost in the last length of time, and by what; a zero job
// means all jobs.
func (r *Runner) Losses(length telemetry.Duration, job telemetry.Entity) (attribute.Losses, error) {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Losses(length, job)
	}
	return attribute.Losses{}, nil
}

// Coupling returns through which domains the losses of the last length of time
// passed.
func (r *Runner) Coupling(length telemetry.Duration) (attribute.Matrix, error) {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Coupling(length)
	}
	return attribute.Matrix{}, nil
}

// Budgets states where the GPU-seconds of the fleet and of every job, or of one
// job, went in the last length of time.
func (r *Runner) Budgets(length telemetry.Duration, job telemetry.Entity) (attribute.Budgets, error) {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Budgets(length, job)
	}
	return attribute.Budgets{}, nil
}

// Bottlenecks states what limited the work in the last length of time.
func (r *Runner) Bottlenecks(length telemetry.Duration) (attribute.Bottlenecks, error) {
	if c, ok := r.machine.(*core); ok {
		return c.engine.Bottlenecks(length)
	}
	return attribute.Bottlenecks{}, nil
}
