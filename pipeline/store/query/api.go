package query

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/httputil"

	"github.com/quintet-dc/quintet/telemetry"
)

// Prefix is the path prefix of the API.
const Prefix = "/prometheus/api/v1"

// What a question may cost. A range of 1,024 GPUs over an hour at 15 s is a
// quarter of a million samples.
const (
	queryTimeout = 30 * time.Second
	maxSamples   = 20_000_000
	concurrent   = 8
	lookback     = 5 * time.Minute
)

// Config sets an API.
type Config struct {
	DB        *tsdb.DB
	Catalogue *telemetry.Catalogue
	// Rules are files of rules in addition to the built-in ones.
	Rules []string
	// Alerts, if not nil, is called after each evaluation of a rule with the alerts
	// that fire and cease, again every minute while they fire; often there are
	// none. It must not block.
	Alerts func(context.Context, []Alert)
	URL    string // under which people find this server
	// Registry receives the metrics of the rule manager and the engine.
	Registry *prometheus.Registry
	Version  string
	Logger   *slog.Logger
}

// API is the query API over a database, and its rules.
type API struct {
	cfg     Config
	handler http.Handler
	engine  *promql.Engine
	ruling  *ruling
	asking  chan struct{} // holds one for each question under way
}

// New returns an API. Its rules are evaluated by Run; ctx ends what it evaluates.
func New(ctx context.Context, c Config) *API {
	a := &API{cfg: c, asking: make(chan struct{}, concurrent)}
	p := parser.NewParser(parser.Options{})
	a.engine = promql.NewEngine(promql.EngineOpts{Logger: c.Logger, Reg: c.Registry, MaxSamples: maxSamples, Timeout: queryTimeout, LookbackDelta: lookback,
		EnableAtModifier: true, EnableNegativeOffset: true, NoStepSubqueryIntervalFn: func(int64) int64 { return (15 * time.Second).Milliseconds() }, Parser: p})
	a.ruling = a.newRuling(ctx, p)
	a.handler = a.routes(p)
	return a
}

// Run evaluates the rules until ctx is done.
func (a *API) Run(ctx context.Context) error { return a.ruling.run(ctx, a.cfg.URL) }

// routes serves the requests of Grafana's own data source and promtool. The paths,
// parameters and answers are those of Prometheus' HTTP API; requests that would
// change the history, and those about scraping, are not served.
func (a *API) routes(p parser.Parser) http.Handler {
	mux := http.NewServeMux()
	both := func(path string, f question) {
		h := httputil.CompressionHandler{Handler: a.asked(f)}
		mux.Handle("GET "+path, h)
		mux.Handle("POST "+path, h)
	}
	only := func(path string, f question) {
		mux.Handle("GET "+path, httputil.CompressionHandler{Handler: a.asked(f)})
	}
	q := reader{db: a.cfg.DB, engine: a.engine, parser: p}
	both("/query", q.instant)
	both("/query_range", q.interval)
	both("/query_exemplars", q.exemplars)
	both("/format_query", q.format)
	both("/labels", q.labelNames)
	both("/series", q.series)
	only("/label/{name}/values", q.labelValues)
	only("/rules", a.ruling.rules(p))
	only("/alerts", a.ruling.alerts)
	only("/targets", func(*http.Request) (result, error) { return result{data: noTargets()}, nil })
	only("/status/buildinfo", func(*http.Request) (result, error) { return result{data: a.build()}, nil })
	mux.HandleFunc("GET /metadata", a.metadata)
	for _, path := range []string{"/admin/", "/write", "/otlp/"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusNotFound, "not_found", "the history is not changed from here; series are pushed to /api/v1/write and /v1/metrics")
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusNotFound, "not_found", "not found: "+Prefix+r.URL.Path)
	})
	return http.StripPrefix(Prefix, mux)
}

// promVersion is the version of Prometheus whose answers these are: clients query
// it to know which requests are supported.
const promVersion = "3.15.0"

// build is what GET /status/buildinfo answers.
func (a *API) build() any {
	return struct {
		Version   string `json:"version"`
		Revision  string `json:"revision"`
		Branch    string `json:"branch"`
		BuildUser string `json:"buildUser"`
		BuildDate string `json:"buildDate"`
		GoVersion string `json:"goVersion"`
	}{Version: promVersion, Revision: a.cfg.Version, Branch: "quintet", GoVersion: runtime.Version()}
}

// noTargets is the answer to GET /targets: nothing is scraped from here.
func noTargets() any {
	return struct {
		Active  []string       `json:"activeTargets"`
		Dropped []string       `json:"droppedTargets"`
		Counts  map[string]int `json:"droppedTargetCounts"`
	}{[]string{}, []string{}, map[string]int{}}
}

// ServeHTTP implements http.Handler. More questions than may be under way wait
// for as long as one may take.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), queryTimeout)
	defer cancel()
	select {
	case a.asking <- struct{}{}:
		defer func() { <-a.asking }()
	case <-ctx.Done():
		Refuse(w, http.StatusServiceUnavailable, "too many queries are under way")
		return
	}
	// Foreign origins are for the server to refuse: none is passed on here.
	r = r.Clone(r.Context())
	r.Header.Del("Origin")
	a.handler.ServeHTTP(w, r)
}

// Refuse answers that there is no answer now, in Prometheus' form.
func Refuse(w http.ResponseWriter, status int, text string) { answer(w, status, "unavailable", text) }

// answer answers with an error in Prometheus' form.
func answer(w http.ResponseWriter, status int, kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // whoever asked may be gone
		Status string `json:"status"`
		Kind   string `json:"errorType"`
		Error  string `json:"error"`
	}{"error", kind, text})
}
