package plugin

import (
	"flag"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/experimental"
)

var update = flag.Bool("update", false, "write the golden frames anew")

// Every query type, over gRPC, gives the frames in testdata/golden.
func TestFramesOfEachQuery(t *testing.T) {
	s := serve(t, newScript(t).URL)
	for name, q := range map[string]struct{ kind, query string }{
		"incidents":         {"incidents", `{}`},
		"incidents-open":    {"incidents", `{"state":"open","severities":["warning"],"domains":["network"],"job":"train"}`},
		"incidents-live":    {"incidents", `{"live":true,"severities":["critical","warning"],"job":"train"}`},
		"annotations":       {"annotations", `{}`},
		"chain":             {"chain", `{"incident":"inc-00000000000000b2"}`},
		"chain-newest":      {"chain", `{}`},
		"curves":            {"curves", `{"incident":"inc-00000000000000a1"}`},
		"topology":          {"topology", `{"entity":"nic:h9/nic0","hops":2}`},
		"jobs":              {"jobs", `{}`},
		"steps":             {"jobs", `{"format":"steps","job":"train"}`},
		"losses-by-cause":   {"losses", `{}`},
		"losses-by-job":     {"losses", `{"groupBy":"job"}`},
		"losses-by-domain":  {"losses", `{"groupBy":"domain"}`},
		"coupling-matrix":   {"coupling", `{}`},
		"coupling-pairs":    {"coupling", `{"format":"pairs"}`},
		"coupling-graph":    {"coupling", `{"format":"graph"}`},
		"budget-waterfall":  {"budget", `{}`},
		"budget-wide":       {"budget", `{"format":"wide","job":"train"}`},
		"budget-unobserved": {"budget", `{"job":"job:eval"}`},
		"bottlenecks":       {"bottlenecks", `{}`},
		"coverage-timeline": {"coverage", `{}`},
		"coverage-table":    {"coverage", `{"format":"table"}`},
		"open-incidents":    {"openIncidents", `{}`},
		"loss-rate":         {"lossRate", `{"window":"45m"}`},
		"values-jobs":       {"values", `{"of":"jobs"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.ask(t, q.kind, q.query)
			experimental.CheckGoldenJSONResponse(t, "testdata/golden", name, &got, *update)
		})
	}
	t.Run("losses-by-day", func(t *testing.T) {
		got := s.askOf(t, "losses", `{"groupBy":"day"}`, backend.TimeRange{From: at().Add(-48 * time.Hour), To: at()})
		experimental.CheckGoldenJSONResponse(t, "testdata/golden", "losses-by-day", &got, *update)
	})
}

// A range bounds the result: an incident is in it if it was open at some time of
// it.
func TestTheRangeIsHonoured(t *testing.T) {
	s := serve(t, newScript(t).URL)
	minute := func(m int) time.Time { return at().Add(time.Duration(m-45) * time.Minute) }
	for name, c := range map[string]struct {
		from, to int
		want     []string
	}{
		"all":                 {0, 45, []string{"a1", "c3", "b2"}},
		"before the first":    {0, 9, nil},
		"while b2 was open":   {15, 20, []string{"b2"}},
		"after b2":            {26, 35, []string{"c3"}},
		"a1 goes on":          {43, 45, []string{"a1", "c3"}},
		"b2 ends as it began": {25, 26, []string{"b2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.askOf(t, "incidents", `{}`, backend.TimeRange{From: minute(c.from), To: minute(c.to)})
			if got.Error != nil {
				t.Fatal(got.Error)
			}
			ids, _ := got.Frames[0].FieldByName("id")
			var have []string
			for i := range ids.Len() {
				id := ids.At(i).(string)
				have = append(have, id[len(id)-2:])
			}
			if len(have) != len(c.want) {
				t.Fatalf("%v, want %v", have, c.want)
			}
			for i := range have {
				if have[i] != c.want[i] {
					t.Fatalf("%v, want %v", have, c.want)
				}
			}
		})
	}
}

// Quintet's totals end now. If the range ends earlier, the panel shows a notice.
func TestARangeThatEndedEarlierIsRemarkedOn(t *testing.T) {
	s := serve(t, newScript(t).URL)
	for _, kind := range []string{"losses", "coupling", "budget", "bottlenecks"} {
		past := s.askOf(t, kind, `{}`, backend.TimeRange{From: at().Add(-3 * time.Hour), To: at().Add(-2 * time.Hour)})
		if len(past.Frames) == 0 || len(past.Frames[0].Meta.Notices) != 1 {
			t.Errorf("%s: a range in the past: %+v, want a notice", kind, past)
		}
		now := s.ask(t, kind, `{}`)
		if len(now.Frames) == 0 || len(now.Frames[0].Meta.Notices) != 0 {
			t.Errorf("%s: a range up to now: %+v, want no notice", kind, now)
		}
	}
}

// Alerting reads numbers only from frames that declare their type, of one number
// and texts.
func TestNumbersForAlerting(t *testing.T) {
	s := serve(t, newScript(t).URL)
	for kind, want := range map[string]int{"openIncidents": 3, "lossRate": 6} {
		got := s.ask(t, kind, `{}`)
		if len(got.Frames) != 1 {
			t.Fatalf("%s: %+v", kind, got)
		}
		f := got.Frames[0]
		if f.Meta.Type != data.FrameTypeNumericLong || f.Meta.TypeVersion.IsZero() || f.Rows() != want {
			t.Errorf("%s: type %q %v, %d rows; want numeric-long with a version and %d rows", kind, f.Meta.Type, f.Meta.TypeVersion, f.Rows(), want)
		}
		if schema := f.TimeSeriesSchema(); schema.Type != data.TimeSeriesTypeNot {
			t.Errorf("%s: it is read as a series (%v)", kind, schema.Type)
		}
		numeric := 0
		for _, field := range f.Fields {
			if field.Type().Numeric() {
				numeric++
			}
		}
		if numeric != 1 {
			t.Errorf("%s: %d numbers a row, want 1", kind, numeric)
		}
	}
}
