package query

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/notifications"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/quintet-dc/quintet/telemetry"
)

// Prefix is below what the API is.
const Prefix = "/prometheus/api/v1"

// What a question may cost. A range of 1,024 GPUs over an hour at 15 s is a
// quarter of a million samples.
const (
	patience   = 30 * time.Second
	maxSamples = 20_000_000
	concurrent = 8
	lookback   = 5 * time.Minute
)

// Config sets an API.
type Config struct {
	Dir       string
	DB        *tsdb.DB
	Catalogue *telemetry.Catalogue
	// Rules are files of rules beside our own.
	Rules []string
	// Alerts, if any, is told after each evaluation of a rule of the alerts that
	// fire and cease, again every minute while they fire; often there are none. It
	// must not block.
	Alerts func(context.Context, []Alert)
	URL    string // under which people find this server
	// Registry takes what the rule manager and the engine say of themselves.
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
	began   time.Time
}

// New returns an API. Its rules are evaluated by Run; ctx ends what it evaluates.
func New(ctx context.Context, c Config) *API {
	a := &API{cfg: c, asking: make(chan struct{}, concurrent), began: time.Now()}
	p := parser.NewParser(parser.Options{})
	a.engine = promql.NewEngine(promql.EngineOpts{Logger: c.Logger, Reg: c.Registry, MaxSamples: maxSamples, Timeout: patience, LookbackDelta: lookback,
		EnableAtModifier: true, EnableNegativeOffset: true, NoStepSubqueryIntervalFn: func(int64) int64 { return (15 * time.Second).Milliseconds() }, Parser: p})
	a.ruling = a.newRuling(ctx, p)
	a.handler = a.routes(p)
	return a
}

// Run evaluates the rules until ctx is done.
func (a *API) Run(ctx context.Context) error { return a.ruling.run(ctx, a.cfg.URL) }

// routes is Prometheus' own API but for what it would know of targets.
func (a *API) routes(p parser.Parser) http.Handler {
	router := route.New()
	a.api(p).Register(router)
	mux := http.NewServeMux()
	mux.Handle("/", router)
	mux.HandleFunc("GET /metadata", a.metadata)
	for _, path := range []string{"/admin/", "/write", "/otlp/"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusNotFound, "not_found", "the history is not changed from here; series are pushed to /api/v1/write and /v1/metrics")
		})
	}
	return http.StripPrefix(Prefix, mux)
}

// api is Prometheus' own. What changes anything, or would show what is not ours
// to show, is left off.
func (a *API) api(p parser.Parser) *v1.API {
	none := nothing{}
	return v1.NewAPI(a.engine, a.cfg.DB, nil, nil, a.cfg.DB,
		func(context.Context) v1.ScrapePoolsRetriever { return none },
		func(context.Context) v1.TargetRetriever { return none },
		func(context.Context) v1.AlertmanagerRetriever { return none },
		func() config.Config { return config.Config{} },
		map[string]string{}, v1.GlobalURLOptions{},
		func(h http.HandlerFunc) http.HandlerFunc { return h },
		statistics{a.cfg.DB}, a.cfg.Dir, false, false, 0, a.cfg.Logger,
		func(context.Context) v1.RulesRetriever { return a.ruling },
		maxSamples, concurrent, 1<<20, false, nil,
		a.runtime,
		&v1.PrometheusVersion{Version: promVersion, Branch: "quintet", Revision: a.cfg.Version, GoVersion: runtime.Version()},
		func() []notifications.Notification { return nil },
		func() (<-chan notifications.Notification, func(), bool) { return nil, func() {}, false },
		a.cfg.Registry, prometheus.NewRegistry(), nil,
		false, nil, false, false, false, false, lookback, false, false, nil, nil,
		v1.OpenAPIOptions{}, p)
}

// promVersion is whose answers these are: clients ask for it to know what they
// may ask for.
const promVersion = "3.15.0"

func (a *API) runtime() (v1.RuntimeInfo, error) {
	return v1.RuntimeInfo{StartTime: a.began, ServerTime: time.Now(), ReloadConfigSuccess: true, LastConfigTime: a.began,
		GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0)}, nil
}

// ServeHTTP implements http.Handler. More questions than may be under way wait
// for as long as one may take.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	select {
	case a.asking <- struct{}{}:
		defer func() { <-a.asking }()
	case <-ctx.Done():
		Refuse(w, http.StatusServiceUnavailable, "too many queries are under way")
		return
	}
	// Pages from elsewhere are the server's own to refuse: none is let in here.
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
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": kind, "error": text}) // whoever asked may be gone
}

// statistics is what the database says of itself.
type statistics struct{ *tsdb.DB }

// BlockMetas lists the blocks on disk.
func (s statistics) BlockMetas() ([]tsdb.BlockMeta, error) { return s.DB.BlockMetas(), nil }

// Stats says which labels and values the newest samples have.
func (s statistics) Stats(label string, limit int) (*tsdb.Stats, error) {
	return s.Head().Stats(label, limit), nil
}

// WALReplayStatus says that everything was read back: before that there is no
// API.
func (statistics) WALReplayStatus() (tsdb.WALReplayStatus, error) {
	return tsdb.WALReplayStatus{}, nil
}

// nothing answers for what this server does not have.
type nothing struct{}

func (nothing) ScrapePools() []string                       { return []string{} }
func (nothing) TargetsActive() map[string][]*scrape.Target  { return nil }
func (nothing) TargetsDropped() map[string][]*scrape.Target { return nil }
func (nothing) TargetsDroppedCounts() map[string]int        { return map[string]int{} }
func (nothing) ScrapePoolConfig(string) (*config.ScrapeConfig, error) {
	return nil, errNoPool
}
func (nothing) Alertmanagers() []*url.URL        { return nil }
func (nothing) DroppedAlertmanagers() []*url.URL { return nil }
