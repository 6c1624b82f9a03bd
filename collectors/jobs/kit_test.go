package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/telemetry"
)

// ear records the output of a collector as text for comparison.
type ear struct{ *collectorstest.Ear }

func listen(t testing.TB) ear { return ear{collectorstest.Listen(t)} }

// runs are the edges that hold, as "job > place [rank]", ordered.
func (e ear) runs() []string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	holds := map[string]bool{}
	for i := range e.Edges {
		x := &e.Edges[i]
		holds[strings.TrimSpace(fmt.Sprintf("%s > %s %s", x.From, x.To, x.Attr("rank")))] = x.End == 0
	}
	return slices.Sorted(func(yield func(string) bool) {
		for k, v := range holds {
			if v && !yield(k) {
				return
			}
		}
	})
}

// golden writes events, edges and readings, a line each.
func (e ear) golden() string {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	var b strings.Builder
	for i := range e.Events {
		x := &e.Events[i]
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", x.At, x.Entity, x.Name, x.Text)))
	}
	for i := range e.Edges {
		x := &e.Edges[i]
		end := "on"
		if x.End != 0 {
			end = x.End.String()
		}
		fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%s %s %s %s to %s %s", x.From, x.Relation, x.To, x.Start, end, x.Attr("rank"))))
	}
	for _, x := range slices.SortedFunc(maps.Keys(e.Series), telemetry.Series.Compare) {
		for _, h := range e.Series[x] {
			fmt.Fprintf(&b, "%s %s %.10g\n", h.At, x, h.Float())
		}
	}
	return b.String()
}

// start runs a collector until the test is over.
func start(t *testing.T, c collectors.Collector) ear {
	t.Helper()
	return ear{collectorstest.Record(t, c)}
}
