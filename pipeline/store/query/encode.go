package query

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// encode returns the data of an evaluated query as JSON; seen, if any, is its
// statistics. A range of 1,024 GPUs has a quarter of a million points, so points
// are appended and not reflected upon.
func encode(v parser.Value, seen any) (b []byte, err error) {
	b = fmt.Appendf(nil, `{"resultType":%q,"result":`, v.Type())
	switch x := v.(type) {
	case promql.Vector:
		b, err = list(b, x, appendSample)
	case promql.Matrix:
		b, err = list(b, x, appendSeries)
	case promql.Scalar:
		b = appendPoint(b, x.T, x.V)
	case promql.String:
		var text []byte
		if text, err = json.Marshal(x.V); err == nil {
			b = append(append(append(appendTime(append(b, '['), x.T), ','), text...), ']')
		}
	default:
		err = fmt.Errorf("query result: type %s not supported", v.Type())
	}
	if err != nil {
		return nil, err
	}
	if seen != nil {
		text, err := json.Marshal(seen)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"stats":`...), text...)
	}
	return append(b, '}'), nil
}

// list appends an array.
func list[T any](b []byte, all []T, one func([]byte, T) ([]byte, error)) ([]byte, error) {
	b = append(b, '[')
	for i, x := range all {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = one(b, x); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendSample appends a series with one value.
func appendSample(b []byte, s promql.Sample) ([]byte, error) {
	b, err := appendMetric(b, s.Metric)
	if err != nil {
		return nil, err
	}
	if s.H == nil {
		return append(appendPoint(append(b, `,"value":`...), s.T, s.F), '}'), nil
	}
	b, err = appendHistogram(append(b, `,"histogram":`...), s.T, s.H)
	return append(b, '}'), err
}

// appendSeries appends a series with its values.
func appendSeries(b []byte, s promql.Series) ([]byte, error) {
	b, err := appendMetric(b, s.Metric)
	if err != nil {
		return nil, err
	}
	if len(s.Floats) > 0 {
		b, err = list(append(b, `,"values":`...), s.Floats, func(b []byte, p promql.FPoint) ([]byte, error) { return appendPoint(b, p.T, p.F), nil })
	}
	if err == nil && len(s.Histograms) > 0 {
		b, err = list(append(b, `,"histograms":`...), s.Histograms, func(b []byte, p promql.HPoint) ([]byte, error) { return appendHistogram(b, p.T, p.H) })
	}
	return append(b, '}'), err
}

// appendMetric appends the beginning of a series: its labels.
func appendMetric(b []byte, l labels.Labels) ([]byte, error) {
	text, err := json.Marshal(l)
	return append(append(b, `{"metric":`...), text...), err
}

// appendHistogram appends a native histogram at a time.
func appendHistogram(b []byte, t int64, h *histogram.FloatHistogram) ([]byte, error) {
	text, err := json.Marshal(promql.HPoint{T: t, H: h})
	return append(b, text...), err
}

// appendPoint appends a value at a time; the value is text, so that NaN, infinity
// and every bit survive.
func appendPoint(b []byte, t int64, v float64) []byte {
	b = append(appendTime(append(b, '['), t), `,"`...)
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return append(strconv.AppendFloat(b, v, form, -1, 64), `"]`...)
}

// appendTime appends milliseconds since 1970 as seconds.
func appendTime(b []byte, t int64) []byte {
	return strconv.AppendFloat(b, float64(t)/1000, 'f', -1, 64)
}
