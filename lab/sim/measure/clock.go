package measure

import (
	"strconv"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(1e9)

// clock is the offset of a device's clock from true time.
type clock struct {
	offset telemetry.Duration
	drift  float64 // seconds per second
}

// at returns what the clock shows at a true time since the start.
func (c *clock) at(t telemetry.Duration) telemetry.Duration {
	return t + c.offset + telemetry.Duration(float64(float64(t)*c.drift))
}

// clocks draws the clocks of so many devices. Most are kept within 50 ms by
// NTP and drift by what its loop leaves (a tenth of a part per million); one in
// fifty is off by up to 0.3 s, one in five hundred by 1 to 2.5 s, free running
// (20 ppm, a quartz without compensation).
func (m *Meter) clocks(n int, kind string) []clock {
	out := make([]clock, n)
	if !m.cfg.Imperfect {
		return out
	}
	for i := range out {
		r := m.stream("clock/" + kind + "/" + strconv.Itoa(i))
		out[i] = drawClock(&r)
	}
	return out
}

func drawClock(r *random.Source) clock {
	kind := r.Float64()
	c := clock{offset: ofSeconds(r.Within(0, 0.017)), drift: r.Normal(0, 1e-7)}
	switch {
	case kind < 0.002:
		c = clock{offset: ofSeconds(float64(sign(r) * r.Uniform(1, 2.5))), drift: r.Normal(0, 2e-5)}
	case kind < 0.02:
		c.offset = ofSeconds(r.Uniform(-0.3, 0.3))
	}
	return c
}

func sign(r *random.Source) float64 {
	if r.Chance(0.5) {
		return -1
	}
	return 1
}

// ofSeconds turns seconds into a length of time.
func ofSeconds(s float64) telemetry.Duration { return telemetry.Duration(float64(s * 1e9)) }
