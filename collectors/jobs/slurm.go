package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// versions of slurmrestd's answers that are read, newest first.
func versions() []string {
	return []string{"v0.0.44", "v0.0.43", "v0.0.42", "v0.0.41", "v0.0.40", "v0.0.39", "v0.0.38", "v0.0.37"}
}

// slurm reads a slurmrestd. One request is in flight at a time.
type slurm struct {
	cfg     Config
	client  *http.Client
	base    string
	version string
	jobs    *tracker
	sizes   *sizes
	drained map[string]bool
	looked  bool // nodes were read before
}

// httpClient is a client for one server, which keeps one connection, and what it
// is reached by.
func httpClient(c Config, g dial.Guard) (*http.Client, string, error) {
	settings, err := c.TLS.Config()
	if err != nil {
		return nil, "", fmt.Errorf("jobs: tls: %w", err)
	}
	base, dialer := strings.TrimSuffix(c.URL, "/"), g.DialContext
	t := &http.Transport{DialContext: dialer, TLSClientConfig: settings, TLSHandshakeTimeout: c.Timeout, ForceAttemptHTTP2: true, HTTP2: dial.HTTP2(c.Timeout),
		MaxConnsPerHost: 2, MaxIdleConnsPerHost: 1, IdleConnTimeout: 5 * time.Minute, MaxResponseHeaderBytes: 64 << 10}
	if u, err := url.Parse(c.URL); err == nil && u.Scheme == "unix" {
		t.DialContext = dialUnix(g, u.Path)
		base = "http://slurmrestd"
	}
	return &http.Client{Transport: t, Timeout: c.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }}, base, nil
}

var (
	errRedirect = errors.New("redirect refused: use the final URL")
	errDenied   = errors.New("permission denied")
	errAbsent   = errors.New("endpoint not found")
	errStatus   = errors.New("no answer")
)

func openSlurm(c Config, g dial.Guard) (source, error) {
	client, base, err := httpClient(c, g)
	if err != nil {
		return nil, err
	}
	return newSlurm(c, client, base), nil
}

func newSlurm(c Config, client *http.Client, base string) *slurm {
	return &slurm{cfg: c, client: client, base: base, version: c.Version, jobs: newTracker(typeSlurm, c.Name, c.MaxJobs), sizes: newSizes(c),
		drained: map[string]bool{}}
}

func (s *slurm) close() { s.client.CloseIdleConnections() }

// read requests jobs, then nodes. An incomplete list ends no job.
func (s *slurm) read(ctx context.Context, r *report) error {
	if err := s.choose(ctx); err != nil {
		r.drop(reasonOf(err), 1)
		return err
	}
	err := s.ask(ctx, "jobs", func(in io.Reader) error { return s.readJobs(in, r) })
	if err == nil {
		s.jobs.finish(r)
		if err := s.sizes.emit(r, s.jobs); err != nil {
			return err
		}
		err = s.ask(ctx, "nodes", func(in io.Reader) error { return s.readNodes(in, r) })
	}
	if errors.Is(err, errAbsent) {
		s.version = s.cfg.Version // it was upgraded, and has dropped the version
	}
	if err != nil {
		r.drop(reasonOf(err), 1)
	}
	return err
}

// reasonOf is what a failed answer is counted as.
func reasonOf(err error) collectors.Reason {
	var refused *dial.RefusedError
	switch {
	case errors.As(err, &refused):
		return collectors.Refused
	case errors.Is(err, errDenied):
		return collectors.Denied
	case errors.Is(err, errTooLong):
		return collectors.OverLimit
	case errors.Is(err, errForm):
		return collectors.Malformed
	case errors.Is(err, errAbsent):
		return collectors.Unsupported
	}
	return collectors.Unreadable
}

// choose finds the newest version that the server has, unless one is known.
func (s *slurm) choose(ctx context.Context) error {
	if s.version != "" {
		return nil
	}
	for _, v := range versions() {
		s.version = v
		err := s.ask(ctx, "ping", func(io.Reader) error { return nil })
		if err == nil {
			return nil
		}
		s.version = ""
		if !errors.Is(err, errAbsent) {
			return err
		}
	}
	return fmt.Errorf("%w: it has none of the versions %v", errAbsent, versions())
}

// errTooLong means that an answer has more bytes than are read.
var errTooLong = errors.New("the answer is too long")

// limited reads so many bytes, and fails where there are more.
type limited struct {
	in   io.Reader
	left int
}

// Read implements io.Reader.
func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.in.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

func (s *slurm) ask(ctx context.Context, what string, read func(io.Reader) error) error {
	q, word, err := question(ctx, s.base+"/slurm/"+s.version+"/"+what, s.cfg.Authorization.CredentialsFile)
	if err != nil {
		return err
	}
	if word != "" {
		q.Header.Set("X-SLURM-USER-TOKEN", strings.TrimPrefix(word, "SLURM_JWT=")) // as scontrol prints it
	}
	if s.cfg.User != "" {
		q.Header.Set("X-SLURM-USER-NAME", s.cfg.User)
	}
	return answer(s.client, q, s.cfg.MaxBody, read)
}

// question makes a request for JSON, and reads its token: the one line of a file
// that may change at any time; "" where there is none.
func question(ctx context.Context, url, tokenFile string) (q *http.Request, token string, err error) {
	if q, err = http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody); err != nil {
		return nil, "", err
	}
	q.Header.Set("Accept", "application/json")
	q.Header.Set("User-Agent", "quintet")
	if tokenFile == "" {
		return q, "", nil
	}
	token, err = dial.Secret(tokenFile)
	return q, token, err
}

// answer sends a request and has its answer read.
func answer(c *http.Client, q *http.Request, most int, read func(io.Reader) error) error {
	a, err := c.Do(q)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }() // it was only read
	switch a.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w: %s", errDenied, a.Status)
	case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: %s: %s", errAbsent, q.URL.Path, a.Status)
	default:
		return fmt.Errorf("%w: %s: %s", errStatus, q.URL.Path, a.Status)
	}
	in := &limited{a.Body, most}
	if err := read(in); err != nil {
		if in.left <= 0 {
			return fmt.Errorf("%s: %w: more than %d bytes", q.URL.Path, errTooLong, most)
		}
		return fmt.Errorf("%s: %w", q.URL.Path, err)
	}
	return nil
}

func (s *slurm) readJobs(in io.Reader, r *report) error {
	bad, err := list(in, "jobs", func(b json.RawMessage) error {
		var j slurmJob
		if err := unmarshal(b, &j); err != nil {
			return err
		}
		if !j.ID.known || j.ID.value <= 0 || len(j.State) == 0 {
			return errForm
		}
		w, err := s.work(&j, r)
		if err == nil {
			s.jobs.note(r, w)
		}
		return err
	})
	r.drop(collectors.Malformed, bad)
	return err
}

// work makes a tracked job of a listed one.
func (s *slurm) work(j *slurmJob, r *report) (work, error) {
	id := strconv.FormatInt(j.ID.value, 10)
	w := work{key: id, job: jobEntity(s.cfg.Job, "{name}", j.Name, "{id}", id), start: seconds(j.Start), restarts: int(j.Restarts.value)}
	if err := w.job.Validate(); err != nil {
		return w, err
	}
	w.phase, w.text = j.phase()
	switch {
	case w.phase == waiting:
		w.end = seconds(j.Submit)
		w.phase, w.text = failed, strings.TrimSpace("queued again "+none(j.StateReason))
		if s.jobs.known[id] == nil {
			w.phase = waiting
		}
		return w, nil
	case w.phase != running:
		w.end = seconds(j.End)
		return w, nil
	case !s.cfg.CPUJobs && !j.usesGPU():
		w.phase = waiting // nobody follows it
		return w, nil
	}
	var err error
	if w.spots, err = s.spots(j); err == nil && len(w.spots) == 0 {
		r.drop(collectors.Unknown, 1)
	}
	return w, err
}

// phase returns the state of a job, and the text with which it ended. The first
// word is its state, the others are flags.
func (j *slurmJob) phase() (phase, string) {
	state := strings.ToUpper(j.State[0])
	text := strings.TrimSpace(state + " " + j.Exit.String())
	switch state {
	case "RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING":
		return running, ""
	case "FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "LAUNCH_FAILED":
		return failed, text
	case "COMPLETED", "CANCELLED", "TIMEOUT", "DEADLINE", "PREEMPTED", "REVOKED":
		return ended, text
	}
	return waiting, "" // PENDING, CONFIGURING, REQUEUED and what may come
}

// none leaves out Slurm's word for no reason.
func none(s string) string {
	if s == "None" {
		return ""
	}
	return plain(s)
}

// spots are where a job runs: GPUs where every node states them, else nodes.
func (s *slurm) spots(j *slurmJob) ([]spot, error) {
	nodes, err := hosts(j.Nodes)
	if err != nil {
		return nil, err
	}
	var out []spot
	for i, n := range nodes {
		if len(j.Gres) != len(nodes) {
			break
		}
		gpus, ok := gpuIndices(j.Gres[i])
		if !ok {
			out = nil
			break
		}
		for _, g := range gpus {
			out = append(out, spot{telemetry.Entity{Kind: telemetry.GPU, Name: telemetry.NamePart(n) + "/" + strconv.Itoa(g)}, -1})
		}
	}
	if out == nil {
		for _, n := range nodes {
			out = append(out, spot{telemetry.Entity{Kind: telemetry.Node, Name: telemetry.NamePart(n)}, -1})
		}
		return out, nil
	}
	if s.cfg.Ranks == "block" || s.cfg.Ranks == "auto" && j.Tasks.value == int64(len(out)) {
		for i := range out {
			out[i].rank = i
		}
	}
	return out, nil
}

func (s *slurm) readNodes(in io.Reader, r *report) error {
	gone := map[string]bool{}
	for n := range s.drained { // order-independent: a copy
		gone[n] = true
	}
	bad, err := list(in, "nodes", func(b json.RawMessage) error {
		var n slurmNode
		if err := unmarshal(b, &n); err != nil {
			return err
		}
		if n.Name == "" || len(n.State) == 0 {
			return errForm
		}
		delete(gone, n.Name)
		s.node(&n, r)
		return nil
	})
	r.drop(collectors.Malformed, bad)
	if err != nil {
		return err
	}
	for n := range gone { // order-independent: nothing is emitted
		delete(s.drained, n)
	}
	s.looked = true
	return nil
}

// node emits an event when a node is drained, and when it no longer is. A drain
// that began long before the first look is reported with the time of the look: its
// text has the time since when.
func (s *slurm) node(n *slurmNode, r *report) {
	now := n.drained()
	if now == s.drained[n.Name] {
		return
	}
	e := telemetry.Event{Entity: telemetry.Entity{Kind: telemetry.Node, Name: telemetry.NamePart(n.Name)}, At: r.now, Name: telemetry.EventMaintenanceEnded,
		Source: telemetry.Source{Collector: sourceName, Target: plain(s.cfg.Name), Part: "events"}}
	if now {
		e.Name, e.Text = telemetry.EventMaintenanceStarted, n.Reason
		at := seconds(n.Changed)
		switch {
		case at <= 0 || at > r.now:
		case !s.looked && r.now.Sub(at) > fresh:
			e.Text += " (since " + at.String() + ")"
		default:
			e.At = at
		}
	}
	if now && len(s.drained) >= mostHosts {
		r.drop(collectors.OverLimit, 1)
		return
	}
	if now {
		s.drained[n.Name] = true
	} else {
		delete(s.drained, n.Name)
	}
	r.event(e)
}

// seconds makes an instant of Slurm's; zero where it states none. A time beyond
// 2100 is none: it means "never".
func seconds(n number) telemetry.Time {
	if !n.known || n.value <= 0 || n.value > 4102444800 {
		return 0
	}
	return telemetry.Time(n.value) * telemetry.Time(time.Second)
}
