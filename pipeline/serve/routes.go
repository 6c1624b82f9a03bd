package serve

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/pipeline/access"
	"github.com/quintet-dc/quintet/pipeline/exposition"
	"github.com/quintet-dc/quintet/pipeline/replica"
)

// route is one path and what answers its methods.
type route struct {
	path  string
	get   http.HandlerFunc
	post  http.HandlerFunc
	right access.Right // that post needs; get needs Read
	open  bool         // asks for no password
	long  bool         // its length says nothing
}

// pushPaths take what is pushed. A process without the collect role answers there
// where that can be sent.
var pushPaths = [...]string{"/api/v1/jobs/{job}/steps", "/api/v1/edges", "/api/v1/events", "/api/v1/alerts/alertmanager", "/api/v1/alerts/grafana",
	"/api/v2/alerts", "/api/v1/write", "/v1/metrics"}

// routes lists the whole API (docs/http.md).
func (s *server) routes() []route {
	j := s.reply.json
	const api, one = "/api/v1/", "/api/v1/incidents/{id}"
	out := []route{
		{path: api + "incidents", get: j(s.ready(s.incidents))},
		{path: one, get: j(s.ready(s.incident))},
		{path: one + "/revisions", get: j(s.ready(s.revisions))},
		{path: one + "/curves", get: j(s.ready(s.curves))},
		{path: one + "/notes", get: j(s.ready(s.noted))},
		{path: one + "/acknowledge", post: j(s.ready(s.acknowledge)), right: access.Operate},
		{path: one + "/verdict", post: j(s.ready(s.judge)), right: access.Operate},
		{path: one + "/assign", post: j(s.ready(s.assign)), right: access.Operate},
		{path: api + "alerts", get: j(s.firing)},
		{path: api + "alerts/{id}", get: j(s.alert)},
		{path: api + "silences", get: j(s.ready(s.listSilences)), post: j(s.ready(s.putSilence)), right: access.Operate},
		{path: api + "silences/{id}/expire", post: j(s.ready(s.expireSilence)), right: access.Operate},
		{path: api + "notifications", get: j(s.ready(s.notifications))},
		{path: api + "notifications/{id}/retry", post: j(s.ready(s.retry)), right: access.Operate},
		{path: api + "silences/preview", post: j(s.ready(s.previewSilence)), right: access.Read},
		{path: api + "jobs", get: j(s.asking(replica.AskJobs, `{"recent":true}`))},
		{path: api + "topology", get: j(s.topology)},
		{path: api + "losses", get: j(s.costs(replica.AskLosses, "window", "job"))},
		{path: api + "coupling", get: j(s.costs(replica.AskCoupling, "window"))},
		{path: api + "budget", get: j(s.costs(replica.AskBudget, "window", "job"))},
		{path: api + "bottlenecks", get: j(s.costs(replica.AskBottlenecks, "window"))},
		{path: api + "audit", get: j(s.audit)},
		{path: api + "coverage", get: j(s.asking(replica.AskCoverage, ""))},
		{path: api + "coverage/report", get: j(s.survey)},
		{path: api + "status", get: j(s.status)},
		{path: api + "search", get: j(s.search)},
		{path: api + "entity", get: j(s.entityStatus)},
		{path: api + "nodes/{name}/health", get: j(s.node)},
		{path: api + "stream", get: s.stream, long: true},
		{path: api + "capture", get: s.capture, long: true},
		{path: "/metrics", get: s.metrics},
		{path: "/-/healthy", get: s.healthy, open: true},
		{path: "/-/ready", get: s.readiness, open: true},
		{path: "/-/reload", post: j(s.reload), right: access.Administer},
		{path: api, get: j(nothing), post: j(nothing), right: access.Read},
		{path: "/-/", get: j(nothing), post: j(nothing), right: access.Read},
		{path: "/", get: s.files},
	}
	if s.cfg.Replay != nil {
		out = append(out, route{path: api + "replay", get: s.cfg.Replay.ServeHTTP, post: s.cfg.Replay.ServeHTTP, right: access.Operate})
	}
	for _, path := range pushPaths {
		out = append(out, route{path: path, post: s.pushed(s.cfg.Push[path]), right: access.Send})
	}
	history := s.historian(s.cfg.History)
	out = append(out, route{path: "/prometheus/", get: history, post: history, right: access.Read})
	return out
}

func nothing(r *http.Request) (any, error) {
	return nil, &problem{status: http.StatusNotFound, text: "not found: " + r.URL.Path}
}

// historian answers questions about the history, where one is kept.
func (s *server) historian(h http.Handler) http.HandlerFunc {
	if h == nil {
		return s.reply.json(func(*http.Request) (any, error) {
			return nil, &problem{status: http.StatusNotImplemented, text: "history: not kept: this process runs without the store role, or store.keep is false"}
		})
	}
	return h.ServeHTTP
}

// pushed takes what others push, where something takes it.
func (s *server) pushed(h http.HandlerFunc) http.HandlerFunc {
	if h == nil {
		return s.reply.json(func(*http.Request) (any, error) {
			return nil, &problem{status: http.StatusNotImplemented, text: "push: this process runs without the collect role; send to a process with collectors.receive.http.listen, or start this one with --role collect too"}
		})
	}
	return h
}

// handler is the whole server behind one http.Handler.
func (s *server) handler(local bool) http.Handler {
	mux := http.NewServeMux()
	g := &guard{server: s, local: local}
	for _, r := range s.routes() {
		mux.Handle(r.path, s.route(r))
		if r.open {
			g.open = append(g.open, r.path)
		}
	}
	if s.cfg.Assist != nil { // what it asks of the routes has passed the guard with it
		mux.Handle("/mcp", s.route(route{path: "/mcp", post: s.cfg.Assist(mux).ServeHTTP, right: access.Read}))
	}
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.refuse(w, r, "origin", &problem{status: http.StatusForbidden, text: "cross-origin request refused"})
	}))
	g.next = origin.Handler(mux)
	return g
}

// route answers the methods of one path and counts what came of it.
func (s *server) route(x route) http.Handler {
	seconds := exposition.NewHistogram(s.cfg.Metrics, "quintet_serve_request_seconds", `route=`+strconv.Quote(x.path))
	methods := s.methods(x)
	allowed := sortedKeys(methods)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c := &coded{ResponseWriter: w, status: http.StatusOK}
		if h := methods[r.Method]; h != nil {
			h(c, r)
		} else {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.reply.problem(c, r, &problem{status: http.StatusMethodNotAllowed, text: r.Method + " is not for " + r.URL.Path})
		}
		if !x.long {
			seconds.Observe(time.Since(began))
		}
		s.cfg.Metrics.GetOrCreateCounter(`quintet_serve_requests_total{route=` + strconv.Quote(x.path) + `,code="` + strconv.Itoa(c.status) + `"}`).Inc()
	})
}

// methods returns what answers each method, once the user's role permits it.
func (s *server) methods(x route) map[string]http.HandlerFunc {
	out := map[string]http.HandlerFunc{}
	may := func(right access.Right, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if x.open || s.permitted(w, r, right) {
				h(w, r)
			}
		}
	}
	if x.get != nil {
		out[http.MethodGet] = may(access.Read, x.get)
	}
	if x.get != nil && !x.long { // the head of what does not end is not worth waiting for
		out[http.MethodHead] = may(access.Read, x.get)
	}
	if x.post != nil {
		out[http.MethodPost] = may(x.right, s.audited(x, x.post))
	}
	return out
}

// coded remembers the status of an answer.
type coded struct {
	http.ResponseWriter
	status int
	wrote  bool
}

// WriteHeader implements http.ResponseWriter.
func (c *coded) WriteHeader(status int) {
	if !c.wrote {
		c.status, c.wrote = status, true
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *coded) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
