package prometheus

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states what is asked for.
type Config struct {
	From, To time.Time
	// Match narrows every question: label matchers as they stand in braces, such
	// as cluster="a",job=~"dcgm.*". Empty is everything.
	Match string
	// Window is how much of the interval one question is about: what the server
	// and this process hold in memory at a time.
	Window    time.Duration
	Mapper    *mapping.Mapper
	Catalogue *telemetry.Catalogue
	// Progress, if set, is called with the share of the interval that is done, 0 to
	// 1.
	Progress func(float64)
}

// Result states what became of what the server holds.
type Result struct {
	Samples int // rows written
	Names   int // metrics that were asked for
	// Unknown are the names that nothing here understands, in order.
	Unknown []string
	Dropped map[collectors.Reason]int // samples
	// Contains states what the mapping files know to be in what.
	Contains []telemetry.Edge
}

// Fetch writes the interval [From, To) as samples.csv of a bundle (docs/format-bundle.md).
func Fetch(ctx context.Context, api promv1.API, c Config, w io.Writer) (*Result, error) {
	names, unknown, err := known(ctx, api, c)
	out := &Result{Names: len(names), Unknown: unknown, Dropped: map[collectors.Reason]int{}}
	if err != nil {
		return out, err
	}
	t := newTable(c, w, out)
	for from := c.From; from.Before(c.To); from = from.Add(c.Window) {
		to := from.Add(c.Window)
		if to.After(c.To) {
			to = c.To
		}
		var fetched window
		for _, name := range names {
			if err := fetched.ask(ctx, api, name, from, to, c.Match); err != nil {
				return out, err
			}
		}
		if err := t.take(&fetched); err != nil {
			return out, err
		}
		if c.Progress != nil {
			c.Progress(float64(to.Sub(c.From)) / float64(c.To.Sub(c.From)))
		}
	}
	return out, t.close()
}

// known returns the names of metrics that a mapping file or the catalogue knows,
// and the others.
func known(ctx context.Context, api promv1.API, c Config) (names, unknown []string, err error) {
	var match []string
	if c.Match != "" {
		match = []string{"{" + c.Match + "}"}
	}
	all, _, _, err := api.LabelValues(ctx, model.MetricNameLabel, match, c.From, c.To)
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the names of metrics: %w", err)
	}
	for _, v := range all {
		if _, ours := c.Catalogue.Lookup(telemetry.MetricName(v)); ours || c.Mapper.Names(string(v)) {
			names = append(names, string(v))
		} else {
			unknown = append(unknown, string(v))
		}
	}
	slices.Sort(names)
	slices.Sort(unknown)
	return names, unknown, nil
}
