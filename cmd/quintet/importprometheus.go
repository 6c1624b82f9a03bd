package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/prometheus"
	"github.com/quintet-dc/quintet/telemetry"
)

// importPrometheusCommand turns what a Prometheus server holds into a trace.
type importPrometheusCommand struct {
	URL      string        `arg:"" name:"url" help:"The server, with what precedes /api/v1, such as http://prometheus:9090 or http://mimir/prometheus."`
	Output   string        `short:"o" required:"" placeholder:"FILE" help:"The trace to write."`
	Last     time.Duration `default:"1h" placeholder:"1h" help:"So long before --to."`
	From     time.Time     `format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME" help:"Since then (RFC 3339), in the place of --last."`
	To       time.Time     `format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME" help:"Up to then; now, if not given."`
	Match    string        `placeholder:"MATCHERS" help:"Only series with these labels, as cluster=\"a\",job=~\"dcgm.*\"."`
	Mapping  []string      `placeholder:"FILE" help:"Mapping files of your own; they come before those of the program."`
	Topology string        `type:"existingfile" placeholder:"FILE" help:"What is cabled to what and where jobs run: a topology.json (docs/format-bundle.md)."`
	Window   time.Duration `default:"5m" placeholder:"5m" help:"How much is asked for at a time: less where the server refuses, or answers too much."`
	User     string        `placeholder:"NAME:FILE" help:"Who asks, and the file with the password."`
	Token    string        `type:"existingfile" placeholder:"FILE" help:"The file with a bearer token."`
	Force    bool          `help:"Replace FILE if it is there."`
}

// maxAnswer is how much a server may answer to one question.
const maxAnswer = 512 << 20

// Validate returns an error if the flags are invalid.
func (c *importPrometheusCommand) Validate() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return fmt.Errorf("<url>: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("<url>: %s: want http://HOST or https://HOST", c.URL)
	case c.Last <= 0:
		return errors.New("--last: want more than none")
	case c.Window < time.Second:
		return errors.New("--window: want a second or more")
	case !c.From.IsZero() && !c.To.IsZero() && !c.From.Before(c.To):
		return errors.New("--from: want an earlier time than --to")
	}
	return nil
}

// Run queries the server, makes a bundle of the answers, and writes it as a trace.
func (c *importPrometheusCommand) Run(sh *cli.Shell) error {
	if err := unclaimed(c.Output, c.Force); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	dir, err := os.MkdirTemp("", "quintet-import-*")
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer os.RemoveAll(dir)
	got, err := c.fetch(sh, dir)
	if err != nil {
		return fmt.Errorf("import: %s: %w", c.URL, err)
	}
	c.report(sh, got)
	if err := c.place(dir); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	b, err := bundle.OpenWith(c.URL, bundle.Config{Files: os.DirFS(dir), Contains: got.Contains, Partial: true})
	if err != nil {
		return fmt.Errorf("import: %s", c.named(err.Error()))
	}
	for _, w := range b.Warnings {
		sh.Warn("%s", c.named(w))
	}
	if !slices.ContainsFunc(b.Edges, func(e telemetry.Edge) bool { return e.Relation == telemetry.Runs }) {
		sh.Warn("no placement reported, so no degraded job can be found: state where jobs run with --topology FILE")
	}
	if err := writeWhole(c.Output, func(w *bufio.Writer) error { return b.WriteTrace(w, program()) }); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	_, err = fmt.Fprintf(sh.Out, "%s: %d samples, %d edges; no history before this time\n", c.Output, b.Samples(), len(b.Edges))
	return err
}

// fetch writes samples.csv.
func (c *importPrometheusCommand) fetch(sh *cli.Shell, dir string) (got *prometheus.Result, err error) {
	mapper, err := mapping.Read(c.Mapping, nil)
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: c.URL, RoundTripper: asker{c}})
	if err != nil {
		return nil, err
	}
	to := c.To
	if to.IsZero() {
		to = time.Now()
	}
	from := c.From
	if from.IsZero() {
		from = to.Add(-c.Last)
	}
	line := newProgress(sh.Err, "asking")
	defer line.done()
	err = writeWhole(filepath.Join(dir, "samples.csv"), func(w *bufio.Writer) error {
		got, err = prometheus.Fetch(sh.Ctx, promv1.NewAPI(client), prometheus.Config{From: from, To: to, Match: c.Match, Window: c.Window,
			Mapper: mapper, Catalogue: telemetry.DefaultCatalogue(), Progress: func(done float64) { line.at(done, "") }}, w)
		return err
	})
	if err == nil && got.Samples == 0 {
		err = fmt.Errorf("nothing between %s and %s that is understood here: %d metrics of %d", from.UTC().Format(time.RFC3339),
			to.UTC().Format(time.RFC3339), got.Names, got.Names+len(got.Unknown))
	}
	return got, err
}

// asker adds credentials to requests, and stops reading an answer without an end.
type asker struct{ c *importPrometheusCommand }

// RoundTrip implements http.RoundTripper.
func (a asker) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if err := identify(req, a.c.User); err != nil {
		return nil, err
	}
	if a.c.Token != "" {
		b, err := os.ReadFile(a.c.Token)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(b)))
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Body = &bounded{resp.Body, maxAnswer}
	}
	return resp, err
}

// bounded ends an answer that is too long with an error that names the remedy.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("an answer of more than %d MiB: ask with a shorter --window, or narrower with --match", int64(maxAnswer>>20))
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// place puts the topology beside the samples.
func (c *importPrometheusCommand) place(dir string) error {
	text := []byte("{}")
	if c.Topology != "" {
		var err error
		if text, err = os.ReadFile(c.Topology); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "topology.json"), text, 0o600)
}

// named gives the topology the name that the user knows it by.
func (c *importPrometheusCommand) named(text string) string {
	if c.Topology == "" {
		return text
	}
	return strings.ReplaceAll(text, "topology.json", c.Topology)
}

// report prints what was left out, and why.
func (c *importPrometheusCommand) report(sh *cli.Shell, got *prometheus.Result) {
	if n := len(got.Unknown); n > 0 {
		few := got.Unknown[:min(n, 5)]
		sh.Warn("metrics left out because no mapping names them: %d (%s%s); add one with --mapping FILE", n, strings.Join(few, ", "), map[bool]string{true: " …"}[n > len(few)])
	}
	for _, why := range slices.Sorted(maps.Keys(got.Dropped)) {
		sh.Warn("samples left out as %s: %d", why, got.Dropped[why])
	}
}
