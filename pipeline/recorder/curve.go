package recorder

import (
	"math"
	"strconv"

	"github.com/quintet-dc/quintet/telemetry"
)

// Picture is the curves of one incident on one axis of time.
type Picture struct {
	ID   string         `json:"id"`
	From telemetry.Time `json:"from"`
	To   telemetry.Time `json:"to"`
	// Tick is the newest tick that is drawn, nil where nothing is. It is the
	// since of the next question: values become visible some time after they
	// were measured.
	Tick *telemetry.Time `json:"tick"`
	// Note is what is missing and why; empty if nothing is.
	Note   string  `json:"note,omitempty"`
	Curves []Curve `json:"curves"`
}

// Curve is one series: a counter as its rate per second.
type Curve struct {
	Entity telemetry.Entity     `json:"entity"`
	Metric telemetry.MetricName `json:"metric"`
	Rate   bool                 `json:"rate"`
	Unit   string               `json:"unit"`
	Role   Role                 `json:"role"`
	// Thinned is how many points there were where some are left out; 0 where
	// none is.
	Thinned int     `json:"thinned,omitempty"`
	Times   []int64 `json:"t"` // milliseconds since 1970
	Values  Values  `json:"v"`
}

// Values are written with no more digits than they have; NaN and infinities are
// null.
type Values []float64

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			b = append(b, "null"...)
		case float64(float32(x)) == x:
			b = strconv.AppendFloat(b, x, 'g', -1, 32)
		default:
			b = strconv.AppendFloat(b, x, 'g', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// point is one value of a curve and when it became visible.
type point struct {
	at   telemetry.Time
	seen telemetry.Time
	v    float64 // NaN where there is none
}

// points is a curve being drawn, oldest first.
type points struct {
	list []point
	// were is how many there were where list was thinned to stay bounded.
	were int
}

// maxKept bounds the points that are kept of a curve: twenty hours of seconds
// are thinned more than once.
const maxKept = 16384

// add appends a point. A second missing value in a row is dropped.
func (p *points) add(x point) {
	n := len(p.list)
	if math.IsNaN(x.v) && (n == 0 || math.IsNaN(p.list[n-1].v)) {
		return
	}
	p.were++
	p.list = append(p.list, x)
	if len(p.list) > maxKept {
		p.list = thin(p.list, maxKept/2)
	}
}

// since returns the points that became visible after an instant, at most limit
// of them, and how many there were if some are left out.
func (p *points) since(at telemetry.Time, limit int) (out []point, were int) {
	i := len(p.list)
	for i > 0 && p.list[i-1].seen > at {
		i--
	}
	out = p.list[i:]
	whole := i == 0
	if len(out) > limit {
		were, out = len(out), thin(out, limit)
	}
	if whole && len(out) < p.were {
		were = p.were
	}
	return out, were
}

// thin leaves at most limit points: of each span of time the smallest, the
// largest, and that a value is missing.
func thin(in []point, limit int) []point {
	spans := max(limit/3, 1)
	first, last := in[0].at, in[len(in)-1].at
	width := max((last.Sub(first)+telemetry.Duration(spans))/telemetry.Duration(spans), 1)
	var out []point
	for i := 0; i < len(in); {
		end := first.Add(width * (in[i].at.Sub(first)/width + 1))
		j := i
		for j < len(in) && in[j].at < end {
			j++
		}
		if j == i { // a point that is older than the one before it
			j++
		}
		out = append(out, extremes(in[i:j])...)
		i = j
	}
	return out
}

// extremes returns the smallest, the largest and the first missing of some
// points, in their order.
func extremes(in []point) []point {
	low, high, gap := -1, -1, -1
	for i, p := range in {
		switch {
		case math.IsNaN(p.v):
			if gap < 0 {
				gap = i
			}
		default:
			if low < 0 || p.v < in[low].v {
				low = i
			}
			if high < 0 || p.v > in[high].v {
				high = i
			}
		}
	}
	var out []point
	for i := range in {
		if i == low || i == high || i == gap {
			out = append(out, in[i])
		}
	}
	return out
}
