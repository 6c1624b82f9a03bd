package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// window is what the server holds of a part of the interval.
type window struct {
	series []series
	points []point
}

// series is one of the server's. Its text is its own: name and labels, sorted.
type series struct {
	text   string
	labels model.Metric
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
	selector := "__name__=" + quoted(name)
	if match != "" {
		selector += "," + match
	}
	length := to.Sub(from) + time.Millisecond
	query := fmt.Sprintf("{%s}[%dms]", selector, length.Milliseconds())
	v, _, err := api.Query(ctx, query, to)
	if err != nil {
		return fmt.Errorf("ask for %s from %s: %w", name, from.UTC().Format(time.RFC3339), err)
	}
	m, ok := v.(model.Matrix)
	if !ok {
		return fmt.Errorf("ask for %s: the answer is a %s, not a matrix", name, v.Type())
	}
	for _, s := range m {
		w.series = append(w.series, series{s.Metric.String(), s.Metric})
		for _, p := range s.Values {
			if t := p.Timestamp.Time(); !t.Before(from) && t.Before(to) {
				w.points = append(w.points, point{p.Timestamp, int32(len(w.series) - 1), float64(p.Value)})
			}
		}
	}
	return nil
}

// quoted writes a name as PromQL does.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// inOrder sorts the points by time and, of one time, by the text of their
// series, whatever the order in which the server answered.
func (w *window) inOrder() []point {
	rank := make([]int32, len(w.series))
	byText := make([]int32, len(w.series))
	for i := range byText {
		byText[i] = int32(i)
	}
	slices.SortFunc(byText, func(a, b int32) int { return strings.Compare(w.series[a].text, w.series[b].text) })
	for r, i := range byText {
		rank[i] = int32(r)
	}
	slices.SortFunc(w.points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(rank[a.series], rank[b.series]), cmp.Compare(math.Float64bits(a.value), math.Float64bits(b.value)))
	})
	return w.points
}
