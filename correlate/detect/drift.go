package detect

import (
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// A drift is a rise, slow and steady on a logarithmic scale, towards a value beyond
// which things break. It is detected in points, each the mean logarithm of an
// interval of samples, on two scales: of half a minute for what takes minutes, of
// five for what takes hours.

const (
	trailPoints = 24 // kept on each scale: 12 minutes, and 2 hours
	ln10        = 2.302585092994046
)

// demand is what a trend must show over a number of the last points.
type demand struct {
	points int
	rise   float64 // decades
	noise  float64 // rise over the deviation from one point to the next
	agree  float64 // part of all pairs of points that rise: of a random series half do
}

// demands are those of a short trend and of one as long as the trail: the
// shorter, the clearer it must be.
func demands() [2]demand {
	return [...]demand{{points: 8, rise: 0.4, noise: 8, agree: 0.95}, {points: trailPoints, rise: 0.3, noise: 6, agree: 0.85}}
}

// pointLength is the length of a point on each of the two scales.
func pointLength(scale int) telemetry.Duration {
	return [...]telemetry.Duration{30e9, 300e9}[scale]
}

// horizon is how far ahead the cliff may be, by the scale of the trend: a line does
// not predict what is much further away than it is long.
func horizon(scale int) float64 {
	return [...]float64{6 * 3600, 48 * 3600}[scale]
}

// edge of a drifting metric: the floor below which it is not looked at, and the
// cliff towards which it drifts.
//
// A bit error ratio before forward error correction has its cliff at 2.4e-4,
// the budget of RS(544,514) (IEEE 802.3 clause 119; rca.md B.2), and below 1e-8
// a sound link's is mostly chance.
func edge(m telemetry.MetricName) (floor, cliff float32, ok bool) {
	if m == "port_pre_fec_ber" {
		return 1e-8, 2.4e-4, true
	}
	return 0, 0, false
}

// point is the mean logarithm (base 10) of an interval.
type point struct {
	number int32 // of the point, since 1970
	level  float32
}

// trail is what is kept of a series that may drift.
type trail struct {
	scales [2]trailScale
	// from is the level from which it drifts; valid where on is set.
	from float32
	on   bool
}

type trailScale struct {
	points []point // oldest first, at most trailPoints
	number int32   // the point in progress
	sum    float64
	n      int32
}

func newTrail() *trail {
	t := &trail{}
	for i := range t.scales {
		t.scales[i].points = make([]point, 0, trailPoints)
	}
	return t
}

// drift judges a run of gauges by their trend.
func (k *worker) drift(r *window.RunView, p *plan) {
	if len(p.trails) != len(r.Value) {
		p.trails = make([]*trail, len(r.Value))
	}
	for i, x := range r.Value {
		t := p.trails[i]
		if t == nil && !(x > p.floor) || !k.fit(i) || !(x > 0) {
			continue
		}
		if t == nil {
			t = newTrail()
			p.trails[i] = t
		}
		level := stats.Log(float64(x)) / ln10
		for scale := range t.scales {
			if t.scales[scale].take(int32(k.g/telemetry.Time(pointLength(scale))), level) {
				k.trend(i, scale, p)
			}
		}
	}
}

// take adds a sample; true where it begins another interval.
func (s *trailScale) take(number int32, level float64) bool {
	done := s.n > 0 && number != s.number
	if done {
		if len(s.points) == trailPoints {
			s.points = append(s.points[:0], s.points[1:]...)
		}
		s.points = append(s.points, point{s.number, float32(s.sum / float64(s.n))})
		s.sum, s.n = 0, 0
	}
	s.number, s.sum, s.n = number, s.sum+level, s.n+1
	return done
}

// trend judges a series whose trail has a new point.
func (k *worker) trend(i, scale int, p *plan) {
	slot, t := int32(k.run.Slot+i), p.trails[i]
	s := &t.scales[scale]
	last := s.points[len(s.points)-1]
	if t.on {
		if last.level < t.from+drifted/2 {
			t.on = false
			k.end(slot, telemetry.ShapeDrift, k.run.Value[i])
		}
		return
	}
	ahead := stats.Log(float64(p.cliff))/ln10 - float64(last.level)
	within := horizon(scale) / (float64(pointLength(scale)) / 1e9) // stretches
	for _, d := range demands() {
		if d.points > len(s.points) {
			return
		}
		seen := s.points[len(s.points)-d.points:]
		if l := k.lineThrough(seen); !l.meets(d) || ahead > float64(l.slope*within) || !k.goesOn(seen, l) {
			continue
		}
		low := lowest(s.points)
		begin := telemetry.Time(s.points[low].number) * telemetry.Time(pointLength(scale))
		onset := telemetry.Interval{Earliest: begin, Latest: begin.Add(2 * pointLength(scale))}
		t.on, t.from = true, s.points[low].level
		e := k.suspect(slot, telemetry.ShapeDrift, onset, float32(stats.Pow(10, float64(t.from))), k.run.Value[i])
		k.confirm(e, k.run.Value[i], (last.level-t.from)/drifted)
		return
	}
}

// drifted is the rise, in decades, half of which must be left for a drift to
// last.
const drifted = 0.3

// lowest returns the last of the lowest points.
func lowest(ps []point) int {
	low := 0
	for i, p := range ps {
		if p.level <= ps[low].level {
			low = i
		}
	}
	return low
}

// line is a robust line through points.
type line struct {
	slope float64 // decades per stretch
	rise  float64 // over the points, decades
	noise float64 // robust deviation from one point to the next
	agree float64 // part of the pairs that rise
}

// goesOn reports whether both halves of a trend rise: with a step between them they
// do not.
func (k *worker) goesOn(ps []point, l line) bool {
	half := len(ps) / 2
	return k.lineThrough(ps[:half]).slope >= l.slope/3 && k.lineThrough(ps[half:]).slope >= l.slope/3
}

func (l line) meets(d demand) bool {
	return l.rise >= d.rise && l.rise >= float64(d.noise*l.noise) && l.agree >= d.agree
}

// lineThrough fits the median of the slopes of all pairs (Theil 1950, Sen
// 1968) to two points or more.
func (k *worker) lineThrough(ps []point) line {
	slopes := k.slopes[:0]
	up := 0
	for i := range ps {
		for j := range i {
			d := float64(ps[i].level - ps[j].level)
			if d > 0 {
				up++
			}
			slopes = append(slopes, d/float64(ps[i].number-ps[j].number))
		}
	}
	l := line{agree: float64(up) / float64(len(slopes))}
	l.slope = stats.Median(slopes)
	k.slopes = slopes
	off := slopes[:len(ps)-1]
	for i := range off {
		d := float64(ps[i+1].level-ps[i].level) - float64(l.slope*float64(ps[i+1].number-ps[i].number))
		off[i] = max(d, -d)
	}
	l.noise = float64(stats.Consistency / 1.4142135623730951 * stats.Median(off))
	l.rise = float64(l.slope * float64(ps[len(ps)-1].number-ps[0].number))
	return l
}

// codeTrails codes the trails of a plan's run.
func codeTrails(c *snapshot.Codec, p *plan) {
	snapshot.List(c, &p.trails, 1, func(c *snapshot.Codec, t **trail) {
		there := *t != nil
		if c.Bool(&there); !there {
			return
		}
		if *t == nil {
			*t = newTrail()
		}
		(*t).snapshot(c)
	})
}

func (t *trail) snapshot(c *snapshot.Codec) {
	c.F32(&t.from)
	c.Bool(&t.on)
	for i := range t.scales {
		s := &t.scales[i]
		snapshot.List(c, &s.points, 8, func(c *snapshot.Codec, p *point) {
			c.I32(&p.number)
			c.F32(&p.level)
		})
		for i := 1; i < len(s.points); i++ {
			if i >= trailPoints || s.points[i].number <= s.points[i-1].number {
				c.Fail(errShape)
			}
		}
		c.I32(&s.number)
		c.F64(&s.sum)
		c.I32(&s.n)
	}
}
