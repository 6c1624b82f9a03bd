package collectors

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"
)

// maxTargets bounds the targets of one collector whose state is kept.
const maxTargets = 1 << 16

// targetState is the state of one target as the last sweep reported it.
type targetState struct {
	up     *metrics.Gauge
	err    error // why it is down; nil is up
	logged bool  // a state has been reported before
}

// observe takes the states of targets from a sweep: the metric of each, and a
// log line for each change. The caller holds mu.
func (w *worker) observe(s Sweep) {
	if s.Targets == nil {
		w.observeTarget(w.spec.Target, s.Err)
	}
	for name, err := range s.Targets { // order-independent: each has a state of its own
		w.observeTarget(name, err)
	}
}

func (w *worker) observeTarget(name string, err error) {
	t := w.targets[name]
	if t == nil {
		if len(w.targets) >= maxTargets {
			return
		}
		t = &targetState{up: w.own.target(name)}
		w.targets[name] = t
	}
	switch was := t.err; {
	case err != nil && (was == nil || !t.logged):
		w.log.Warn("target down", "target", name, "err", err)
	case err != nil && was.Error() != err.Error():
		w.log.Debug("target down for another reason", "target", name, "err", err)
	case err == nil && was != nil:
		w.log.Info("target up", "target", name)
	case err == nil && !t.logged:
		w.log.Debug("target up", "target", name)
	}
	t.err, t.logged = err, true
	if err != nil {
		t.up.Set(0)
		return
	}
	t.up.Set(1)
}

// targetsStopped sets the metric of every target to down: nothing reads them
// until Run is called again. Why Run ended is logged once for the collector. The
// caller holds mu.
func (w *worker) targetsStopped() {
	for _, t := range w.targets { // order-independent: each has a gauge of its own
		t.err = errReturned
		t.up.Set(0)
	}
}

// target returns the gauge of one target.
func (m ownMetrics) target(name string) *metrics.Gauge {
	return m.set.GetOrCreateGauge(fmt.Sprintf("quintet_collectors_target_up{collector=%q,target=%q}", m.name, name), nil)
}
