package assist

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Path is where a server answers assistants.
const Path = "/mcp"

// maxQuestion is how long a request of an assistant may be.
const maxQuestion = 256 << 10

// Config configures the tools.
type Config struct {
	API API // required
	// Version is the program's.
	Version string
	// Signatures are the faults that are known.
	Signatures []explain.Signature
	// Replay runs the engine over a trace in a file; nil where that cannot be done
	// here.
	Replay func(ctx context.Context, path string) (*Replayed, error)
	// Scratch is the folder for a trace while it is replayed; the system's
	// temporary folder if empty.
	Scratch string
	Logger  *slog.Logger
}

// Replayed is the result of a replay.
type Replayed struct {
	Incidents []explain.Incident // the newest revision of each
	// From and To are the ends of the first and the last grid.
	From, To telemetry.Time
	// Warm is set if the trace begins with the engine's state of that moment: the
	// answer must then be the same, to the byte.
	Warm          bool
	Engine, Rules string // by which it was replayed
	Warnings      []string
}

// instructions are sent to an assistant once.
const instructions = `Quintet watches an AI data centre: software, computing, network, power and cooling, and reports which job got slower, stalled or died, by how much, where it began and through which chain of causes.
Begin with list_incidents; get_incident gives one with its chain, evidence, alternatives and what is ruled out; get_evidence its curves. Entities are written kind:name, such as gpu:n012/3, nic:n012/mlx5_3, port:leaf3/eth12, job:train. Times are RFC 3339 in UTC and are the log's, not your clock's: "tick" in an answer is now.
Every answer names the entities and times it is about under "cites"; what was left out is under "cut". Confidence is the engine's own; what it could not see is under blind_spots: include that when you pass an answer on. Nothing here changes anything.`

// tools are the tools at work.
type tools struct {
	cfg       Config
	replaying chan struct{} // holds one while a replay runs
}

// New returns a server with all tools.
func New(c Config) *mcp.Server {
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	s := mcp.NewServer(&mcp.Implementation{Name: "quintet", Title: "Quintet", Version: cmp.Or(c.Version, "0")},
		&mcp.ServerOptions{Instructions: instructions, Logger: quiet(c.Logger), Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	t := &tools{cfg: c, replaying: make(chan struct{}, 1)}
	t.addIncidents(s)
	t.addSite(s)
	t.addCosts(s)
	t.addMetrics(s)
	t.addKnowledge(s)
	t.addReplay(s)
	return s
}

// quiet logs warnings and errors only: requests are in the server's counters.
func quiet(l *slog.Logger) *slog.Logger { return slog.New(warnings{l.Handler()}) }

type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// Handler serves streamable HTTP. It keeps no session: each request is independent,
// so any client may use any process.
func Handler(c Config) http.Handler {
	s := New(c)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxQuestion, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // the server's guard has seen to that, and knows the names that are allowed
	})
}

// tool is the description of a tool.
type tool struct {
	name, title, text string
}

// add adds a tool. Beyond the schema of its arguments it declares that the tool is
// read-only.
func add[In any](s *mcp.Server, what tool, answer func(ctx context.Context, in In) (*result, error)) {
	no := false
	t := &mcp.Tool{Name: what.name, Title: what.title, Description: what.text, Annotations: &mcp.ToolAnnotations{
		Title: what.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}}
	mcp.AddTool(s, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, *Answer, error) {
		reply, err := answer(ctx, in)
		if err != nil {
			return nil, nil, clear(err)
		}
		out, err := reply.fit()
		if err != nil {
			return nil, nil, err
		}
		b, err := encode(out)
		if err != nil {
			return nil, nil, err
		}
		// The facts as text, too: many clients show their model nothing else.
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: reply.text}, &mcp.TextContent{Text: string(b)}}}, out, nil
	})
}

// clear returns an error that describes how to correct the call.
func clear(err error) error {
	var r *Refusal
	switch {
	case errors.Is(err, errLong):
		return errors.New("the API's answer is longer than can be read here: ask for less")
	case !errors.As(err, &r):
		return err
	case r.Status == http.StatusNotImplemented:
		return errors.New(r.Error() + " (this server does not do that)")
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusServiceUnavailable:
		return errors.New(r.Error() + " (ask again in a moment)")
	}
	return r
}

// get asks the API.
func (t *tools) get(ctx context.Context, path string, q url.Values, into any) error {
	return fetch(ctx, t.cfg.API, path, q, into)
}

// tick is the log's time; empty where no engine answers.
func (t *tools) tick(ctx context.Context) string {
	var s struct {
		Tick *string `json:"tick"`
	}
	if t.get(ctx, "/api/v1/status", nil, &s) != nil || s.Tick == nil {
		return ""
	}
	return *s.Tick
}

// parameters makes a query of what is set.
func parameters(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// plural counts in words.
func plural(n int, one string) string {
	switch {
	case n == 0:
		return "no " + one
	case n == 1:
		return "1 " + one
	}
	return itoa(n) + " " + one + "s"
}

// names are the first few of a list, in words.
func names(list []string, most int) string {
	list = slices.Clone(list)
	if rest := len(list) - most; rest > 0 {
		list = append(list[:most], "and "+itoa(rest)+" more")
	}
	return strings.Join(list, ", ")
}
