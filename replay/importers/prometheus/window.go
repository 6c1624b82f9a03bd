package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// window is what the server holds of a part of the interval.
type window struct{ series []series }

// series is one of the server's. Its text is its own: name and labels, sorted.
type series struct {
	text   string
	labels model.Metric
	values []model.SamplePair
}

// point is one sample of a series of the window.
type point struct {
	at     model.Time // ms
	series int32
	value  float64
}

// ask adds every sample of one metric in [from, to), as it was stored: a range
// selector gives samples, where a range query would give what they look like at
// its steps. Servers differ in whether a range has its first instant; both ends
// are asked for and cut here.
func (w *window) ask(ctx context.Context, api promv1.API, name string, from, to time.Time, match string) error {
	selector := "__name__=" + strconv.Quote(name)
	if match != "" {
		selector += "," + match
	}
	length := to.Sub(from) + time.Millisecond
	query := fmt.Sprintf("{%s}[%dms]", selector, length.Milliseconds())
	v, _, _, err := api.Query(ctx, query, to)
	if err != nil {
		return fmt.Errorf("ask for %s from %s: %w", name, from.UTC().Format(time.RFC3339), err)
	}
	m, ok := v.(model.Matrix)
	if !ok {
		return fmt.Errorf("ask for %s: the answer is a %s, not a matrix", name, v.Type())
	}
	for _, s := range m {
		outside := func(p model.SamplePair) bool { t := p.Timestamp.Time(); return t.Before(from) || !t.Before(to) }
		w.series = append(w.series, series{s.Metric.String(), s.Metric, slices.DeleteFunc(s.Values, outside)})
	}
	return nil
}

// inOrder returns the points by time and, of one time, by the text of their
// series, whatever the order in which the server answered.
func (w *window) inOrder() []point {
	slices.SortFunc(w.series, func(a, b series) int { return strings.Compare(a.text, b.text) })
	var points []point
	for i, s := range w.series {
		for _, v := range s.values {
			points = append(points, point{v.Timestamp, int32(i), float64(v.Value)})
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.series, b.series), cmp.Compare(math.Float64bits(a.value), math.Float64bits(b.value)))
	})
	return points
}
