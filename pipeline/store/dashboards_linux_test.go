package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/pipeline/store/query"
	ours "github.com/quintet-dc/quintet/rules/prometheus"
	"github.com/quintet-dc/quintet/telemetry"
)

// What our dashboards show when they are opened: the last hour, in the steps
// that the data source is provisioned with.
const (
	shownFor  = time.Hour
	shownStep = 15 * time.Second
	// heldBefore is how much longer the history is than that: the ranges of most
	// rules.
	heldBefore = 6 * time.Minute
)

// question is what a panel asks.
type question struct {
	dashboard, panel, expr string
	instant                bool
}

// panel is a panel of a dashboard, or a row with panels.
type panel struct {
	Title   string
	Panels  []panel
	Targets []struct {
		Expr    string
		Instant bool
	}
}

// asked lists the queries of the built-in Grafana dashboards, with every variable
// at its initial value: "all", and one switch where one is to be chosen.
func asked(b *testing.B) (out []question) {
	files, err := filepath.Glob("../../dashboards/grafana/dashboards/*.json")
	if err != nil || len(files) == 0 {
		b.Skip("there are no dashboards")
	}
	opened := strings.NewReplacer("$switch", ".*", "$rack", ".*", "$job", ".*", "$one", "leaf07", "$__rate_interval", "1m", "$__interval", "15s")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		var d panel
		if err := json.Unmarshal(text, &d); err != nil {
			b.Fatal(err)
		}
		for _, p := range d.Panels {
			for _, p := range append(p.Panels, p) {
				for _, t := range p.Targets {
					if t.Expr != "" { // else it is asked of the plugin
						out = append(out, question{strings.TrimSuffix(filepath.Base(f), ".json"), p.Title, opened.Replace(t.Expr), t.Instant})
					}
				}
			}
		}
	}
	return out
}

// metricsOf adds the metrics that an expression reads.
func metricsOf(b *testing.B, expr string, into map[string]bool) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		b.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			into[v.Name] = true
		}
		return nil
	})
}

// past is a history that is made rather than fed: without frames, and without a
// write-ahead log.
type past struct {
	b      *testing.B
	db     *tsdb.DB
	random *rand.Rand
	places *places
	shown  []*lane // what dashboards read, written each cadence
	judged []*lane // what only rules read: until they have been evaluated
	ruled  []*lane // what rules record, each step
	series int     // of the log
}

// lane is a series of the past.
type lane struct {
	ref   storage.SeriesRef
	of    labels.Labels
	v     float64
	rises bool
}

func newPast(b *testing.B, dir string) *past {
	o := tsdb.DefaultOptions()
	o.WALSegmentSize = -1 // none
	o.OutOfOrderTimeWindow = outOfOrder.Milliseconds()
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), o, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return &past{b: b, db: db, random: rand.New(rand.NewPCG(1, 1))}
}

// state makes the site's series. Series that dashboards read are written each
// cadence, those that only rules read until the rules have been evaluated. All
// others have one sample: they are in the index, and cost a query no more than
// that.
func (p *past) state(shown, judged map[string]bool) {
	sources, edges := thousand()
	p.places = newPlaces(newCounters(Config{}.withDefaults().Metrics))
	for _, e := range edges {
		p.places.take(edge(e))
	}
	found := map[string]bool{jobInfo: true, memberInfo: true}
	app := p.db.Appender(p.b.Context())
	put := func(name string, l *lane) {
		switch {
		case shown[name]:
			p.shown = append(p.shown, l)
		case judged[name]:
			p.judged = append(p.judged, l)
		default:
			p.append(app, l, millis(t0))
		}
	}
	for _, x := range sources {
		for i := range x.Len() {
			s := x.Series(i)
			name := string(s.Metric)
			p.series++
			found[name] = true
			put(name, &lane{of: label.Of(s), v: healthy(name) * (1 + p.random.Float64()/100), rises: rises(name, i)})
		}
	}
	// The rest is the processes' own metrics, open incidents and alerts: twenty of
	// each.
	for _, name := range slices.Sorted(maps.Keys(judged)) {
		for i := 0; i < 20 && !found[name] && !strings.Contains(name, ":"); i++ {
			n := fmt.Sprint(i)
			put(name, &lane{rises: rises(name, i), of: named(name, "job", "train-"+fmt.Sprint(i%4), "instance", "q"+fmt.Sprint(i%2), "route", n,
				"code", n, "outcome", n, "reason", n, "receiver", n, "incident", n, "domain", "network", "severity", "warning", "signature", "incast",
				"root", "port:leaf07/Ethernet"+n, "alertname", "LinkFlapping", "alertstate", "firing")})
		}
	}
	p.commit(app)
}

// healthy is a value at which no rule alerts: thousands of alerts would be no
// usual night.
func healthy(metric string) float64 {
	for _, x := range []struct {
		part  string
		value float64
	}{
		{"_up", 1}, {"_total", 0}, {"stalled_ratio", 0}, {"_ber", 1e-12}, {"_margin_", 30}, {"active_ratio", 0.9}, {"_ratio", 0.4}, {"_limit_", 900}, {"_watts", 300},
		{"supply_celsius", 32}, {"_celsius", 40}, {"_wait_", 0.01}, {"checkpoint_", 0.01}, {"latency", 0.001}, {"pcie_link", 16}, {"queue_", 0}, {"reasons", 0}, {"leak", 0},
	} {
		if strings.Contains(metric, x.part) {
			return x.value
		}
	}
	return 1
}

// rises reports whether the i-th series of a source grows: traffic does, what
// the network does under load in every eighth, other trouble seldom.
func rises(metric string, i int) bool {
	in := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(w string) bool { return strings.Contains(metric, w) })
	}
	return strings.HasSuffix(metric, "_total") && (in("bytes", "x_packets", "joules", "quintet_", "collector_") || i%8 == 0 && in("pause", "seq_errors", "timeouts", "marked") || i%500 == 0)
}

func (p *past) append(app storage.Appender, l *lane, at int64) {
	ref, err := app.Append(l.ref, l.of, at, l.v)
	if err != nil {
		p.b.Fatalf("%s: %v", l.of, err)
	}
	l.ref = ref
}

func (p *past) commit(app storage.Appender) {
	if err := app.Commit(); err != nil {
		p.b.Fatal(err)
	}
}

// write writes the samples of one cadence.
func (p *past) write(at int64) {
	app := p.db.Appender(p.b.Context())
	for _, lanes := range [][]*lane{p.shown, p.judged} {
		for _, l := range lanes {
			if l.rises {
				l.v += float64(p.random.IntN(4))
			}
			p.append(app, l, at)
		}
	}
	p.places.write(at, func(l labels.Labels, v float64) {
		if _, err := app.Append(0, l, at, v); err != nil {
			p.b.Fatal(err)
		}
	})
	p.commit(app)
}

// record writes what the rules have recorded once more, at another step.
func (p *past) record(at int64) {
	app := p.db.Appender(p.b.Context())
	for _, l := range p.ruled {
		p.append(app, l, at)
	}
	p.commit(app)
}

// ledger writes down which series are written through it.
type ledger struct {
	storage.AppendableV2
	lanes map[uint64]*lane
}

type entering struct {
	storage.AppenderV2
	of *ledger
}

func (k *ledger) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &entering{k.AppendableV2.AppenderV2(ctx), k}
}

func (k *entering) Append(ref storage.SeriesRef, l labels.Labels, start, at int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram,
	o storage.AppendV2Options) (storage.SeriesRef, error) {
	ref, err := k.AppenderV2.Append(ref, l, start, at, v, h, fh, o)
	k.of.lanes[l.Hash()] = &lane{ref: ref, of: l, v: v}
	return ref, err
}

// rule evaluates our rules at some steps, and returns what the last round of
// all of them took.
func (p *past) rule(groups map[string]*rules.Group, out *ledger, steps ...int64) (took time.Duration) {
	for _, at := range steps {
		began := cpu(p.b)
		clear(out.lanes)
		for _, k := range slices.Sorted(maps.Keys(groups)) {
			groups[k].Eval(p.b.Context(), time.UnixMilli(at))
		}
		took = cpu(p.b) - began
	}
	for _, k := range slices.Sorted(maps.Keys(out.lanes)) {
		p.ruled = append(p.ruled, out.lanes[k])
	}
	return took
}

// ruleFiles writes our rules to files.
func ruleFiles(b *testing.B) (files []string) {
	dir := b.TempDir()
	for _, n := range ours.Names() {
		text, err := fs.ReadFile(ours.Files(), n)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, filepath.Join(dir, n))
		if err := os.WriteFile(files[len(files)-1], text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return files
}

// groupsOf loads rules that write to out.
func (p *past) groupsOf(files []string, out *ledger) map[string]*rules.Group {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true})
	m := rules.NewManager(&rules.ManagerOptions{NameValidationScheme: model.UTF8Validation, AppendableV2: out, Queryable: p.db,
		QueryFunc: rules.EngineQueryFunc(engine, p.db), NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Context: p.b.Context(),
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	groups, errs := m.LoadGroups(shownStep, labels.EmptyLabels(), "", nil, false, files...)
	if len(errs) > 0 {
		p.b.Fatal(errs)
	}
	return groups
}

// BenchmarkDashboards1024 runs all queries that the built-in Grafana dashboards
// make when they are opened, at 1,024 GPUs, and reports what each query takes of
// one core. The first evaluations of the rules show which series they record; of
// later evaluations only the cost of reading matters here, so it is repeated.
func BenchmarkDashboards1024(b *testing.B) {
	questions := asked(b)
	dir := b.TempDir()
	p := newPast(b, dir)
	out := &ledger{AppendableV2: p.db, lanes: map[uint64]*lane{}}
	groups := p.groupsOf(ruleFiles(b), out)
	shown, judged := map[string]bool{}, map[string]bool{}
	for _, q := range questions {
		metricsOf(b, q.expr, shown)
	}
	maps.Copy(judged, shown)
	for _, g := range groups {
		for _, r := range g.Rules() {
			metricsOf(b, r.Query().String(), judged)
		}
	}
	p.state(shown, judged)
	began := millis(t0) + heldBefore.Milliseconds()
	end := began + shownFor.Milliseconds()
	var round time.Duration
	for at := millis(t0); at <= end; at += 10_000 {
		p.write(at)
		switch {
		case at == began:
			round = p.rule(groups, out, at-60_000, at-45_000, at-30_000)
			p.judged = nil
		case at > began && at%30_000 == 0:
			p.record(at - 15_000)
			p.record(at)
		}
	}
	api := query.New(b.Context(), query.Config{DB: p.db, Catalogue: telemetry.DefaultCatalogue(), Logger: slog.New(slog.DiscardHandler),
		Registry: prometheus.NewRegistry()})
	took, answers := make([][]time.Duration, len(questions)), make([]int, len(questions))
	for b.Loop() {
		for range 3 {
			for i, q := range questions {
				began := cpu(b)
				answers[i] = ask(b, api, q, end)
				took[i] = append(took[i], cpu(b)-began)
			}
		}
	}
	tell(b, questions, took, answers)
	b.ReportMetric(float64(p.series), "series")
	b.ReportMetric(float64(len(p.ruled)), "series-recorded")
	b.ReportMetric(round.Seconds()*1e3, "cpu-ms/round-of-rules")
}

// ask asks as Grafana does, and returns how many series are in the answer.
func ask(b *testing.B, api http.Handler, q question, end int64) int {
	v, path := url.Values{"query": {q.expr}, "time": {fmt.Sprint(end / 1000)}}, "/query?"
	if !q.instant {
		path = "/query_range?"
		v.Set("start", fmt.Sprint(end/1000-int64(shownFor.Seconds())))
		v.Set("end", v.Get("time"))
		v.Set("step", fmt.Sprint(shownStep.Seconds()))
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, query.Prefix+path+v.Encode(), nil))
	if w.Code != http.StatusOK {
		b.Fatalf("%s: %s", q.expr, w.Body)
	}
	return strings.Count(w.Body.String(), `{"metric":`)
}

// tell prints the duration of each query, the slowest first: a benchmark's own log
// is cut after ten lines.
func tell(b *testing.B, questions []question, took [][]time.Duration, answers []int) {
	fmt.Println()
	order := make([]int, len(questions))
	middle := make([]time.Duration, len(questions))
	for i := range questions {
		order[i] = i
		slices.Sort(took[i])
		middle[i] = took[i][len(took[i])/2]
	}
	slices.SortFunc(order, func(x, y int) int { return int(middle[y] - middle[x]) })
	for _, i := range order {
		q, form := questions[i], "range"
		if q.instant {
			form = "instant"
		}
		fmt.Printf("%7.1f ms %4d series  %-13s  %s: %s  (%s)\n", middle[i].Seconds()*1e3, answers[i], q.dashboard, q.panel, q.expr, form)
	}
	b.ReportMetric(middle[order[0]].Seconds()*1e3, "cpu-ms/slowest")
	b.ReportMetric(middle[order[len(order)/2]].Seconds()*1e3, "cpu-ms/median")
	b.ReportMetric(float64(len(questions)), "questions")
}
