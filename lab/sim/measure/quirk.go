package measure

import (
	"strings"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// How often devices and collectors fail by themselves, each per hour and
// source. The rates are ours: low enough that most runs of ten minutes on 256
// GPUs have some of each and no run is made of them.
const (
	stallsAnHour   = 1.5   // its frames come late, all at once
	restartsAnHour = 0.03  // its collector restarts: no data for a while
	resetsAnHour   = 0.006 // its driver is loaded again: counters begin anew
	gapsAFrame     = 0.002 // one value of a frame is a sentinel
	stuckSensors   = 0.0003
	percentFans    = 0.002 // controllers whose new firmware reports percent for a ratio
)

// quirk is a sensor that goes wrong for good at a time.
type quirk struct {
	series int32
	from   telemetry.Duration
	factor float64 // firmware changed the unit; 0: the sensor sticks
	word   uint64
	stuck  bool
}

// drawQuirks draws which of a source's sensors go wrong in the first hours.
func drawQuirks(s *source, r *random.Source) (out []quirk) {
	n := len(s.schema.Entities)
	for c := range s.schema.Columns {
		name := string(s.schema.Columns[c].Metric)
		if name == "fan_speed_ratio" && r.Chance(percentFans) {
			from := ofSeconds(r.Uniform(0, 7200))
			for i := range n {
				out = append(out, quirk{series: int32(c*n + i), from: from, factor: 100})
			}
			continue
		}
		if !strings.HasSuffix(name, "_celsius") && name != "coolant_flow_liters_per_minute" && name != "fan_speed_ratio" {
			continue
		}
		for i := range n {
			if r.Chance(stuckSensors) {
				out = append(out, quirk{series: int32(c*n + i), from: ofSeconds(r.Uniform(0, 3600))})
			}
		}
	}
	return out
}

// odd puts into a reading what goes wrong with single series.
func (s *source) odd(r *reading, now telemetry.Duration) {
	for i := range s.quirks {
		q := &s.quirks[i]
		switch {
		case now < q.from:
		case q.factor > 0:
			r.words[q.series] = uint64(float64(float64(r.words[q.series]) * q.factor))
		case !q.stuck:
			q.stuck, q.word = true, r.words[q.series]
		default:
			r.words[q.series] = q.word
		}
	}
	if s.random.Chance(gapsAFrame) {
		at := int32(s.random.Below(len(r.words)))
		r.gaps, r.words[at] = append(r.gaps, at), 0
	}
}

// fails reports whether nothing comes of a reading, and draws what else befalls
// the source.
func (s *source) fails(at telemetry.Duration, past *state.State) bool {
	hours := s.period.Seconds() / 3600
	switch x := s.random.Float64(); {
	case x < stallsAnHour*hours:
		s.until = at + s.stall()
	case x < (stallsAnHour+restartsAnHour)*hours:
		s.incarnation, s.sequence = s.incarnation+1, 0
		s.next = s.later(at + ofSeconds(s.random.Uniform(3, 20)))
		return true
	case x < (stallsAnHour+restartsAnHour+resetsAnHour)*hours:
		s.body.reset(past)
	}
	return s.loss > 0 && s.random.Chance(s.loss)
}

// stall is for how long frames are delayed: within the class's lateness nine
// times in ten, else beyond it.
func (s *source) stall() telemetry.Duration {
	l := telemetry.DefaultLateness()[s.schema.Class].Seconds()
	if s.random.Chance(0.9) {
		return ofSeconds(s.random.Uniform(float64(0.15*l), float64(0.8*l)))
	}
	return ofSeconds(s.random.Uniform(l, float64(2.5*l)))
}
