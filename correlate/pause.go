package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// pause is a time in which a job, as it reported, did something other than
// training.
type pause struct {
	what     string         // checkpoint, eval, init …
	from, to telemetry.Time // to is zero while it goes on
}

// What pauses are called: phases as POST /api/v1/jobs/{job}/steps names them.
const (
	pauseCheckpoint = "checkpoint"
	pauseInit       = "init"
	pauseTrain      = "train"
)

// maxPauses is how many of its last pauses a job keeps.
const maxPauses = 8

// pause records what a job reports of its phases.
func (e *roll) pause(ev *telemetry.Event) {
	i, ok := slices.BinarySearchFunc(e.running, ev.Entity, runningJob.compare)
	if !ok {
		return
	}
	t := &e.running[i]
	what := ""
	switch ev.Name {
	case telemetry.EventCheckpointStarted:
		what = pauseCheckpoint
	case jobs.EventPhase:
		what = ev.Text
	case telemetry.EventCheckpointEnded:
	default:
		return
	}
	if what == pauseCheckpoint || ev.Name == telemetry.EventCheckpointEnded {
		t.announces = true
	}
	if n := len(t.pauses); n > 0 && t.pauses[n-1].to == 0 {
		t.pauses[n-1].to = max(ev.At, t.pauses[n-1].from)
	}
	if what == "" || what == pauseTrain {
		return
	}
	if len(t.pauses) == maxPauses {
		t.pauses = slices.Delete(t.pauses, 0, 1)
	}
	t.pauses = append(t.pauses, pause{what: what, from: ev.At})
}

// paused is for how many seconds of (from, to] a job wrote checkpoints, and for
// how many it did something other than training and beginning.
func paused(all []pause, from, to telemetry.Time) (saving, other float64) {
	for _, p := range all {
		end := p.to
		if end == 0 {
			end = to
		}
		in := min(end, to).Sub(max(p.from, from)).Seconds()
		switch {
		case in <= 0 || p.what == pauseInit:
		case p.what == pauseCheckpoint:
			saving += in
		default:
			other += in
		}
	}
	return saving, other
}

func codePause(c *snapshot.Codec, p *pause) {
	c.String(&p.what)
	c.Time(&p.from)
	c.Time(&p.to)
}
