package serve

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/access"
	"github.com/quintet-dc/quintet/pipeline/exposition"
	"github.com/quintet-dc/quintet/pipeline/openapi"
	"github.com/quintet-dc/quintet/pipeline/recorder"
	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/pipeline/survey"
)

// route is one path and what answers its methods.
type route struct {
	path  string
	get   http.HandlerFunc
	post  http.HandlerFunc
	right access.Right // that post needs; get needs Read
	open  bool         // asks for no password
	long  bool         // its length has no meaning
	// gets and posts describe the methods for the OpenAPI document.
	gets, posts openapi.Operation
}

// pushPaths accept pushed data. A process without the collect role answers there
// with the place to send it to.
var pushPaths = [...]string{"/api/v1/jobs/{job}/steps", "/api/v1/edges", "/api/v1/events", "/api/v1/alerts/alertmanager", "/api/v1/alerts/grafana",
	"/api/v2/alerts", "/api/v1/write", "/v1/metrics"}

// routes lists the whole API (docs/http.md).
func (s *server) routes() []route {
	out := slices.Concat(s.incidentRoutes(), s.siteRoutes(), s.ownRoutes())
	if s.access.LogsIn() {
		out = append(out, route{path: loginPath, get: s.login, open: true, gets: serves("Log in at the identity provider.", "text/html", param("to", "path to return to"))},
			route{path: access.CallbackPath, get: s.callback, open: true, gets: serves("Return from the identity provider.", "text/html", param("code", "of the login"), param("state", "of the login"))})
	}
	if s.cfg.Replay != nil {
		out = append(out, route{path: api + "replay", get: s.cfg.Replay.ServeHTTP, post: s.cfg.Replay.ServeHTTP, right: access.Operate,
			gets: serves("Where the recording is that is played.", "application/json"), posts: serves("Pause, seek or change the speed of a recording.", "application/json")})
	}
	if s.cfg.Faults != nil {
		out = append(out, route{path: api + "demo/faults", get: s.reply.json(s.listFaults), post: s.reply.json(s.injectFault), right: access.Operate,
			gets:  answers("The faults that can be injected into the simulated site.", faultList{}),
			posts: takes("Inject a fault into the simulated site.", injectionBody{}, Injection{})})
	}
	for _, path := range pushPaths {
		out = append(out, route{path: path, post: s.pushed(s.cfg.Push[path]), right: access.Send, posts: pushes(path)})
	}
	history := s.historian(s.cfg.History)
	out = append(out, route{path: "/prometheus/", get: history, post: history, right: access.Read,
		gets: serves(historySummary, "application/json"), posts: serves(historySummary, "application/json")})
	return out
}

// incidentRoutes lists the routes of incidents, alerts, and their notifications.
func (s *server) incidentRoutes() []route {
	j := s.reply.json
	const one = api + "incidents/{id}"
	return []route{
		{path: api + "incidents", get: j(s.ready(s.incidents)),
			gets: answers("The incidents, the newest opening first.", incidentList[explain.Incident]{}, stateParam("open", "resolved", "all"), param("job", "one job, with or without job:"), param("since", "changed at or after this time (RFC 3339)"), limitParam, cursorParam)},
		{path: one, get: j(s.ready(s.incident)),
			gets: answers("One incident as it is now.", explain.Incident{})},
		{path: one + "/revisions", get: j(s.ready(s.revisions)),
			gets: answers("The revisions of an incident as they were published, the oldest first.", revisionList[explain.Incident]{}, limitParam, cursorParam)},
		{path: one + "/curves", get: j(s.ready(s.curves)),
			gets: answers("The curves that are the evidence of an incident.", recorder.Picture{}, param("since", "what is newer (RFC 3339)"))},
		{path: one + "/notes", get: j(s.ready(s.noted)),
			gets: answers("What people stated about an incident, and what mutes it.", noteView{})},
		{path: one + "/acknowledge", post: j(s.ready(s.acknowledge)), right: access.Operate,
			posts: takes("Acknowledge an incident.", opinion{}, noteView{})},
		{path: one + "/verdict", post: j(s.ready(s.judge)), right: access.Operate,
			posts: takes("State whether an incident's root was right.", opinion{}, noteView{})},
		{path: one + "/assign", post: j(s.ready(s.assign)), right: access.Operate,
			posts: takes("Assign an incident.", assignment{}, noteView{})},
		{path: one + "/done", post: j(s.ready(s.done)), right: access.Operate,
			posts: takes("State which action was done about an incident.", deed{}, noteView{})},
		{path: api + "alerts", get: j(s.firing),
			gets: answers("The alerts of the rules, open ones first.", alertList{}, stateParam("open", "resolved", "all"), limitParam, cursorParam)},
		{path: api + "alerts/{id}", get: j(s.alert),
			gets: answers("One alert.", alertAndNote{})},
		{path: api + "silences", get: j(s.ready(s.listSilences)), post: j(s.ready(s.putSilence)), right: access.Operate,
			gets:  answers("The silences, the last to change first.", silenceList{}, stateParam("active", "pending", "expired", "all"), limitParam, cursorParam),
			posts: takes("State a silence, or change one.", silenceBody{}, silenceView{})},
		{path: api + "silences/{id}/expire", post: j(s.ready(s.expireSilence)), right: access.Operate,
			posts: takes("End a silence.", opinion{}, silenceView{})},
		{path: api + "notifications", get: j(s.ready(s.notifications)),
			gets: answers("Why revisions were delivered to each receiver, or were not.", deliveredList{}, param("incident", "of one incident"), param("receiver", "to one receiver"), stateParam("dead", "claimed", "failed", "held", "settled", "all"), limitParam, cursorParam)},
		{path: api + "notifications/{id}/retry", post: j(s.ready(s.retry)), right: access.Operate,
			posts: takes("Try a dead delivery again.", opinion{}, delivered{})},
		{path: api + "silences/preview", post: j(s.ready(s.previewSilence)), right: access.Read,
			posts: takes("Which incidents a silence would mute.", silenceBody{}, preview{})},
	}
}

// siteRoutes lists the routes of the site.
func (s *server) siteRoutes() []route {
	j := s.reply.json
	return []route{
		{path: api + "jobs", get: j(s.listed(replica.AskJobs, `{"recent":true}`, []string{"jobs"}, "job")),
			gets: answers("The jobs: state, steps, slowdown, goodput.", jobList{}, limitParam, cursorParam)},
		{path: api + "topology", get: j(s.topology),
			gets: answers("Entities and how they are connected.", replica.Topology{}, param("entity", "what is around it"), openapi.Parameter{Name: "hops", Text: "how far around it", Type: "integer", Default: usualHops}, param("kind", "the entities of a kind"), param("in", "directly in this entity"), param("after", "go on after the last answer's next"), limitParam, cursorParam)},
		{path: api + "losses", get: j(s.costs(replica.AskLosses, "window", "job")),
			gets: answers("What was lost, by job, cause, domain and day.", attribute.Losses{}, windowParam, param("job", "of one job"))},
		{path: api + "coupling", get: j(s.costs(replica.AskCoupling, "window")),
			gets: answers("Through which domains losses passed.", attribute.Matrix{}, windowParam)},
		{path: api + "budget", get: j(s.costs(replica.AskBudget, "window", "job")),
			gets: answers("Where GPU-seconds went, from peak to achieved.", attribute.Budgets{}, windowParam, param("job", "of one job"))},
		{path: api + "bottlenecks", get: j(s.costs(replica.AskBottlenecks, "window")),
			gets: answers("What limits the work, in percent of the available GPU-seconds.", attribute.Bottlenecks{}, windowParam)},
		{path: api + "audit", get: j(s.audit),
			gets: answers("Changes that people made, the newest first.", changeList{}, limitParam, cursorParam, integer("before", "changes before this sequence"))},
		{path: api + "coverage", get: j(s.listed(replica.AskCoverage, "", []string{"sources", "gaps"}, "collector", "target", "part")),
			gets: answers("The sources: what each reports, how often, and gaps.", sourceList{}, limitParam, cursorParam)},
		{path: api + "coverage/report", get: j(s.survey),
			gets: answers("What the site reports and lacks, and which faults cannot be distinguished.", survey.Report{})},
		{path: api + "status", get: j(s.status),
			gets: answers("The state of the site, its engine and its log.", siteStatus{})},
		{path: api + "search", get: j(s.search),
			gets: answers("Entities whose kind:name contains a text.", replica.Found{}, required("q", "the text"), limitParam)},
		{path: api + "entity", get: j(s.entityStatus),
			gets: answers("The state of an entity, and what concerns it.", entityHealth{}, required("entity", "kind:name"))},
		{path: api + "nodes/{name}/health", get: j(s.node),
			gets: answers("The state of a node, for schedulers.", nodeHealth{}, openapi.Parameter{Name: "min_confidence", Text: "least confidence, 0 to 1, of a root", Type: "number"})},
		{path: api + "stream", get: s.stream, long: true,
			gets: serves("Server-sent events: incidents, alerts, notes and state as they change.", "text/event-stream", param("after", "go on after this event"))},
		{path: api + "capture", get: s.capture, long: true,
			gets: serves("A trace of the log.", "application/octet-stream", param("last", "this long, such as 15m"), param("incident", "around this incident"))},
		{path: api + "runbooks/{signature}", get: s.runbook,
			gets: serves("What to do about a signature: Markdown.", "text/plain")},
		{path: documentPath, get: s.document, gets: serves("This document.", "application/json")},
	}
}

// ownRoutes lists what concerns this process, and the page.
func (s *server) ownRoutes() []route {
	j := s.reply.json
	return []route{
		{path: "/metrics", get: s.metrics,
			gets: serves("The metrics of this process.", "text/plain")},
		{path: "/-/healthy", get: s.healthy, open: true,
			gets: serves("Whether the process answers.", "text/plain")},
		{path: "/-/ready", get: s.readiness, open: true,
			gets: serves("Whether the process is ready.", "text/plain")},
		{path: "/-/reload", post: j(s.reload), right: access.Administer,
			posts: takes("Read the configuration again.", nil, reloaded{})},
		{path: api, get: j(nothing), post: j(nothing), right: access.Read},
		{path: "/-/", get: j(nothing), post: j(nothing), right: access.Read},
		{path: "/", get: s.files},
	}
}

// api is the path prefix of the API.
const api = "/api/v1/"

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

// pushed accepts pushed data, if this process has a handler for it.
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

// route serves the methods of one path and counts the outcomes.
func (s *server) route(x route) http.Handler {
	seconds := exposition.NewHistogram(s.cfg.Metrics, "quintet_serve_request_seconds", `route=`+strconv.Quote(x.path))
	methods := s.methods(x)
	allowed := slices.Sorted(maps.Keys(methods))
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
