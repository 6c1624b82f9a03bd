package exposition

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// Page is what GET /metrics answers: sets of metrics and those of the Go runtime
// and the process, each family once, with its help text and type.
type Page struct {
	sets    []*metrics.Set
	process *prometheus.Registry
}

// New returns the page of sets. A set that is named twice is written once.
func New(sets ...*metrics.Set) *Page {
	p := &Page{process: prometheus.NewRegistry()}
	for _, s := range sets {
		if s != nil && !slices.Contains(p.sets, s) {
			p.sets = append(p.sets, s)
		}
	}
	p.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return p
}

// Write writes the page in the text format 0.0.4.
func (p *Page) Write(w io.Writer) error {
	var text bytes.Buffer
	for _, s := range p.sets {
		s.WritePrometheus(&text)
	}
	if err := Encode(&text, p.process); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, f := range families(text.Bytes()) {
		f.write(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// WritePart writes the page of a part of a service that runs in a process of its
// own, for the page of the process that started it: without help texts, and with
// the label part on each metric that both have, which is any of which alone does
// not report true.
func (p *Page) WritePart(w io.Writer, part string, alone func(name string) bool) error {
	var page bytes.Buffer
	if err := p.Write(&page); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for line := range strings.Lines(page.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, labels, labelled := strings.Cut(line, "{")
		if !labelled {
			name, labels, _ = strings.Cut(line, " ")
		}
		switch {
		case alone(name):
			out.WriteString(line)
		case labelled:
			fmt.Fprintf(out, "%s{part=%q,%s", name, part, labels)
		default:
			fmt.Fprintf(out, "%s{part=%q} %s", name, part, labels)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// nativeOnly marks the metrics that the Prometheus libraries keep as native
// histograms in addition to summaries of the same: the text format cannot carry the
// former, and their names contain a type, which promtool refuses.
const nativeOnly = "_histogram_"

// Encode writes the metrics of a registry, with help texts and types.
func Encode(w io.Writer, r prometheus.Gatherer) error {
	found, err := r.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	out := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range found {
		if strings.Contains(f.GetName(), nativeOnly) {
			continue
		}
		if err := out.Encode(f); err != nil {
			return fmt.Errorf("encode metric %s: %w", f.GetName(), err)
		}
	}
	return nil
}

// family is one metric and all its series.
type family struct {
	name       string
	help, kind string // as the text states them; "" where it does not
	series     []string
}

// families groups the lines of a page by family, by name. The text may name a
// family in several places.
func families(text []byte) []*family {
	byName := map[string]*family{}
	get := func(name string) *family {
		if byName[name] == nil {
			byName[name] = &family{name: name}
		}
		return byName[name]
	}
	histogram := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# "); ok {
			word, rest, _ := strings.Cut(rest, " ")
			name, value, _ := strings.Cut(rest, " ")
			switch f := get(name); word {
			case "HELP":
				f.help = value
			case "TYPE":
				f.kind = value
				histogram[name] = value == "histogram" || value == "summary"
			}
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		if base, ok := strings.CutSuffix(name, "_bucket"); ok {
			histogram[base] = true
		}
		if name != "" {
			f := get(name)
			f.series = append(f.series, line)
		}
	}
	return merge(byName, histogram)
}

// merge moves the parts of histograms and summaries to their family.
func merge(byName map[string]*family, histogram map[string]bool) []*family {
	var out []*family
	for name, f := range byName { // order-independent: sorted below
		whole := false
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && histogram[base] {
				if byName[base] == nil {
					byName[base] = &family{name: base, kind: "histogram"}
					out = append(out, byName[base])
				}
				byName[base].series = append(byName[base].series, f.series...)
				whole = true
			}
		}
		if !whole {
			out = append(out, f)
		}
	}
	out = slices.CompactFunc(sorted(out), func(a, b *family) bool { return a == b })
	return slices.DeleteFunc(out, func(f *family) bool { return len(f.series) == 0 })
}

func sorted(fs []*family) []*family {
	slices.SortFunc(fs, func(a, b *family) int { return cmp.Compare(a.name, b.name) })
	return fs
}

// write writes a family. Where the text states no type, the name does.
func (f *family) write(w *bufio.Writer) {
	kind, text := f.kind, f.help
	if text == "" {
		text = help(f.name)
	}
	if kind == "" {
		kind = "gauge"
		if strings.HasSuffix(f.name, "_total") {
			kind = "counter"
		}
	}
	if text != "" {
		fmt.Fprintf(w, "# HELP %s %s\n", f.name, text)
	}
	fmt.Fprintf(w, "# TYPE %s %s\n", f.name, kind)
	if f.kind == "histogram" {
		slices.SortStableFunc(f.series, byBucket)
	}
	for _, line := range f.series {
		w.WriteString(line)
		w.WriteByte('\n')
	}
}

// byBucket orders the lines of a histogram: by its other labels, buckets first, by
// their bounds, then the sum and the count.
func byBucket(a, b string) int {
	x, y := bucketOf(a), bucketOf(b)
	return cmp.Or(cmp.Compare(x.labels, y.labels), cmp.Compare(x.part, y.part), cmp.Compare(x.bound, y.bound))
}
