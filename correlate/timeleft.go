package correlate

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// fallGrids is how far back a gauge is looked at that falls, leastFalls how many
	// samples show at what rate, and clearFall how many of its standard errors that
	// must be.
	fallGrids, leastFalls, clearFall = 60, 4, 4.0
	// farOff is when a gauge that reaches 0 is no news.
	farOff = 900.0 // seconds
)

// soon finds which gauge on the hosts behind a trouble's root reaches 0 first, and
// reports false where none does or the signature has none.
func (e *risks) soon(s *supported, hosts []telemetry.Entity, g telemetry.Time) bool {
	p := s.Signature.Precursor
	if p == nil || p.Until == "" {
		return false
	}
	for _, host := range hosts {
		for _, x := range e.graph.Contents(host) {
			left, ok := e.falls(telemetry.Series{Entity: x, Metric: p.Until}, g)
			if !ok {
				continue
			}
			if seconds, _ := left.Seconds(); seconds > farOff {
				continue
			} else if s.Left != nil {
				if first, _ := s.Left.Seconds(); first <= seconds {
					continue
				}
			}
			s.Left = &left
		}
	}
	return s.Left != nil
}

// falls fits a straight line through what a gauge was lately, by least squares.
func (e *risks) falls(of telemetry.Series, g telemetry.Time) (explain.Left, bool) {
	slot, ok := e.window.Slot(of)
	if !ok {
		return explain.Left{}, false
	}
	var t, v []float64
	cells := e.window.Span(nil, slot, g.Add(-fallGrids*e.cfg.Grid), g)
	for k, x := range cells {
		if x == x {
			t, v = append(t, float64(k+1-len(cells))*float64(e.cfg.Grid)/1e9), append(v, float64(x))
		}
	}
	if len(v) < leastFalls {
		return explain.Left{}, false
	}
	at, slope, err := line(t, v)
	if -slope < float64(clearFall*err) || slope >= 0 {
		return explain.Left{}, false
	}
	return explain.Left{Series: of, At: g, Value: at, Fall: -slope, Err: err}, true
}

// line is the straight line of least squares through v at t: its value at 0, its
// slope and the standard error of that.
func line(t, v []float64) (at, slope, err float64) {
	n := float64(len(t))
	var st, sv, stt, stv float64
	for i := range t {
		st, sv = st+t[i], sv+v[i]
	}
	mt, mv := st/n, sv/n
	for i := range t {
		stt += float64((t[i] - mt) * (t[i] - mt))
		stv += float64((t[i] - mt) * (v[i] - mv))
	}
	if stt == 0 {
		return mv, 0, 0
	}
	slope = stv / stt
	at = mv - float64(slope*mt)
	var squares float64
	for i := range t {
		r := v[i] - at - float64(slope*t[i])
		squares += float64(r * r)
	}
	return at, slope, math.Sqrt(squares / max(1, n-2) / stt)
}
