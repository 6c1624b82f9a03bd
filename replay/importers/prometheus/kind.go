package prometheus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/importers/kind"
	"github.com/quintet-dc/quintet/telemetry"
)

// Kind describes this importer.
func Kind() kind.Kind {
	return kind.Kind{
		Name:   "prometheus",
		Doc:    "Turn what a Prometheus server holds of an interval into a trace.",
		Reads:  "a server with Prometheus' query API: Prometheus, Mimir, Thanos, VictoriaMetrics, [our own history](history.md) under `/prometheus`",
		Limits: "cables and placement, unless `--topology` has them; onsets between two samples; the last digits of a counter beyond 2^53",
		New:    func() kind.Settings { return new(settings) },
	}
}

// settings are the command's flags and arguments.
type settings struct {
	URL      string        `arg:"" name:"url" help:"The server, with what precedes /api/v1, such as http://prometheus:9090 or http://mimir/prometheus."`
	Last     time.Duration `default:"1h" placeholder:"1h" help:"So long before --to."`
	From     time.Time     `format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME" help:"Since then (RFC 3339), in the place of --last."`
	To       time.Time     `format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME" help:"Up to then; now, if not given."`
	Match    string        `placeholder:"MATCHERS" help:"Only series with these labels, as cluster=\"a\",job=~\"dcgm.*\"."`
	Mapping  []string      `placeholder:"FILE" help:"Mapping files of your own; they come before those of the program."`
	Topology string        `type:"existingfile" placeholder:"FILE" help:"What is cabled to what and where jobs run: a topology.json (docs/format-bundle.md)."`
	Window   time.Duration `default:"5m" placeholder:"5m" help:"How much is asked for at a time: less where the server refuses, or answers too much."`
	User     string        `placeholder:"NAME:FILE" help:"Who asks, and the file with the password."`
	Token    string        `type:"existingfile" placeholder:"FILE" help:"The file with a bearer token."`
}

// Validate implements kind.Settings.
func (s *settings) Validate() error {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return fmt.Errorf("<url>: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("<url>: %s: want http://HOST or https://HOST", s.URL)
	case s.Last <= 0:
		return errors.New("--last: want more than none")
	case s.Window < time.Second:
		return errors.New("--window: want a second or more")
	case !s.From.IsZero() && !s.To.IsZero() && !s.From.Before(s.To):
		return errors.New("--from: want an earlier time than --to")
	case s.User != "" && !strings.Contains(s.User, ":"):
		return errors.New("--user: want NAME:FILE")
	}
	return nil
}

// Read implements kind.Settings: it queries the server and makes a bundle of the
// answers.
func (s *settings) Read(ctx context.Context, e kind.Environment) (*bundle.Bundle, error) {
	dir, err := os.MkdirTemp("", "quintet-import-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	got, err := s.fetch(ctx, e, filepath.Join(dir, "samples.csv"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.URL, err)
	}
	got.report(e)
	if err := s.place(filepath.Join(dir, "topology.json")); err != nil {
		return nil, err
	}
	b, err := bundle.OpenWith(s.URL, bundle.Config{Files: os.DirFS(dir), Contains: got.Contains, Partial: true})
	if err != nil {
		return nil, errors.New(s.named(err.Error()))
	}
	for i, w := range b.Warnings {
		b.Warnings[i] = s.named(w)
	}
	if !slices.ContainsFunc(b.Edges, func(e telemetry.Edge) bool { return e.Relation == telemetry.Runs }) {
		e.Warn("no placement reported, so no degraded job can be found: state where jobs run with --topology FILE")
	}
	return b, nil
}

// fetch writes samples.csv.
func (s *settings) fetch(ctx context.Context, e kind.Environment, path string) (got *Result, err error) {
	mapper, err := mapping.Read(s.Mapping, nil)
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: s.URL, RoundTripper: s.asker()})
	if err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriter(f)
	from, to := s.interval(time.Now())
	got, err = Fetch(ctx, promv1.NewAPI(client), Config{From: from, To: to, Match: s.Match, Window: s.Window,
		Mapper: mapper, Catalogue: telemetry.DefaultCatalogue(), Progress: e.Progress}, w)
	if err == nil && got.Samples == 0 {
		err = fmt.Errorf("nothing between %s and %s that is understood here: %d metrics of %d", from.UTC().Format(time.RFC3339),
			to.UTC().Format(time.RFC3339), got.Names, got.Names+len(got.Unknown))
	}
	return got, errors.Join(err, w.Flush(), f.Close())
}

// interval is what is asked for.
func (s *settings) interval(now time.Time) (from, to time.Time) {
	from, to = s.From, s.To
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-s.Last)
	}
	return from, to
}

// asker returns what sends requests, with credentials.
func (s *settings) asker() asker {
	name, file, _ := strings.Cut(s.User, ":")
	return asker{dial.BasicAuth{Username: name, PasswordFile: file}, dial.Authorization{CredentialsFile: s.Token}}
}

// place puts the topology next to the samples.
func (s *settings) place(path string) error {
	text := []byte("{}")
	if s.Topology != "" {
		var err error
		if text, err = os.ReadFile(s.Topology); err != nil {
			return err
		}
	}
	return os.WriteFile(path, text, 0o600)
}

// named gives the topology the name that the user knows it by.
func (s *settings) named(text string) string {
	if s.Topology == "" {
		return text
	}
	return strings.ReplaceAll(text, "topology.json", s.Topology)
}

// report prints what was left out, and why.
func (r *Result) report(e kind.Environment) {
	if n := len(r.Unknown); n > 0 {
		few := r.Unknown[:min(n, 5)]
		e.Warn("metrics left out because no mapping names them: %d (%s%s); add one with --mapping FILE", n, strings.Join(few, ", "), map[bool]string{true: " …"}[n > len(few)])
	}
	for _, why := range slices.Sorted(maps.Keys(r.Dropped)) {
		e.Warn("samples left out as %s: %d", why, r.Dropped[why])
	}
}
