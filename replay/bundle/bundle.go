package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/quintet-dc/quintet/telemetry"
)

// Config describes how a bundle is read. The zero Config is the default.
type Config struct {
	// Catalogue states which metrics are counters and which stand for a job's
	// step; nil means telemetry.DefaultCatalogue.
	Catalogue *telemetry.Catalogue
	// Coarsen keeps every K-th sample of each series, in the order of time.
	// Metrics that stand for a job's step are kept whole. 0 and 1 keep all.
	Coarsen int
	// Lacks states which metrics are left out; nil keeps all.
	Lacks func(telemetry.MetricName) bool
	// Files is read instead of the folder, which then is but a name; nil means
	// the folder.
	Files fs.FS
	// Contains are edges of containment known to the writer of the samples; they
	// apply to entities that topology.json places nowhere.
	Contains []telemetry.Edge
	// Partial states that topology.json need not name what there are samples of.
	Partial bool
	// MaxSamples bounds the rows read, 0 means 32 million (a gigabyte).
	MaxSamples int
}

// Bundle is a bundle that was read and found sound.
type Bundle struct {
	Dir         string
	Class       string // of bundle.json; may be empty
	Description string
	Site        telemetry.SiteConfig
	Edges       []telemetry.Edge // attributes as memberships included, sorted
	Events      []telemetry.Event
	Warnings    []string // "file:line: what": doubtful, but no reason to refuse

	samples *samples
	schemas []*telemetry.Schema
}

// Open reads a bundle as it is.
func Open(dir string) (*Bundle, error) { return OpenWith(dir, Config{}) }

// OpenWith reads the bundle in a folder. The error joins up to ten *Error, each
// with file, line and field.
func OpenWith(dir string, c Config) (*Bundle, error) {
	if c.Catalogue == nil {
		c.Catalogue = telemetry.DefaultCatalogue()
	}
	c.MaxSamples = cmp.Or(c.MaxSamples, 32<<20)
	if c.Files == nil {
		if info, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("open bundle: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("open bundle: %s: not a folder", dir)
		}
		c.Files = os.DirFS(dir)
	}
	b := &Bundle{Dir: dir}
	var r report
	b.readSettings(c.Files, &r)
	topo := readTopology(c.Files, &r)
	topo.add(c.Contains)
	b.readEvents(c.Files, &r)
	b.samples = readSamples(c, &r)
	if err := r.err(); err != nil {
		return nil, fmt.Errorf("open bundle: %s: %w", dir, err)
	}
	topo.add(topo.named(b.samples))
	b.Edges = topo.edges
	if !c.Partial {
		topo.checkListed(b.samples, &r)
	}
	b.arrange(c, topo, &r)
	if err := r.err(); err != nil {
		return nil, fmt.Errorf("open bundle: %s: %w", dir, err)
	}
	b.Warnings = r.warnings
	if r.unsaid > 0 {
		b.Warnings = append(b.Warnings, fmt.Sprintf("and %d more", r.unsaid))
	}
	return b, nil
}

// Samples returns how many samples the log holds, gaps included.
func (b *Bundle) Samples() int { return len(b.samples.rows) }

// Span returns the first and the last grid of the log: the ends of those that
// hold the first and the last record.
func (b *Bundle) Span() (first, last telemetry.Time) {
	lo, hi := b.span()
	return ceilGrid(lo, b.Site.Grid), ceilGrid(hi, b.Site.Grid)
}

// Step is one step of a job: it ended at End and took Seconds.
type Step struct {
	Job     telemetry.Entity
	End     telemetry.Time
	Seconds float64
}

// Steps returns every job_step_seconds sample, in the order of time. They are
// never thinned.
func (b *Bundle) Steps() []Step {
	var out []Step
	for i := range b.samples.rows {
		r := &b.samples.rows[i]
		if s := &b.samples.series[r.series]; s.id.Metric == "job_step_seconds" && r.kind != gap {
			col := b.schemas[b.samples.slots[r.series].source].Columns[b.columnOf(r.series)]
			out = append(out, Step{Job: s.id.Entity, End: r.at, Seconds: col.Float(r.word)})
		}
	}
	return out
}

// readSettings reads bundle.json, where there is one.
func (b *Bundle) readSettings(files fs.FS, r *report) {
	b.Site = telemetry.DefaultSiteConfig()
	b.Site.Site = "bundle"
	const name = "bundle.json"
	doc, err := readDocument(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.fail(place{file: name}, "", err)
		return
	}
	lateness := b.Site.Lateness[telemetry.Prompt]
	doc.object(r, map[string]any{"grid_ns": &b.Site.Grid, "lateness_ns": &lateness, "class": &b.Class,
		"description": &b.Description, "site": &b.Site.Site})
	b.Site.Lateness[telemetry.Prompt] = lateness
	if err := b.Site.Validate(); err != nil {
		r.fail(place{name, 1}, "", err)
		return
	}
	for i, l := range b.Site.Lateness { // whole grids, and no class before the prompt one
		b.Site.Lateness[i] = telemetry.Duration(ceilGrid(telemetry.Time(max(l, lateness)), b.Site.Grid))
	}
}
