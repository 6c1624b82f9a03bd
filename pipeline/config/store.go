package config

import (
	"path"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Store says what the history keeps; what is zero has the default of package
// store.
type Store struct {
	Off         bool          // no history is kept
	Cadence     time.Duration // one sample of a series in so much time
	Retain      time.Duration
	RetainBytes int64
	MaxSeries   int
	Drop        []string // metrics that are not kept, as names or patterns
	Rules       []string // files of Prometheus rules
}

// store reads what the history is told.
func (r *reader) store(n *yaml.Node, c *Store) {
	keep := true
	r.mapping(n, "store: ", r.truth("keep", &keep), r.span("cadence", &c.Cadence), r.days("retain", &c.Retain), r.size("retain_bytes", &c.RetainBytes),
		field{"metrics", func(n *yaml.Node) {
			r.mapping(n, "store: metrics: ", r.texts("drop", &c.Drop), r.count("max_series", &c.MaxSeries))
		}},
		r.texts("rules", &c.Rules))
	c.Off = !keep
	if c.Cadence != 0 && (c.Cadence < time.Second || c.Cadence > time.Minute) {
		r.fail(n, "store: cadence: %v: want 1 s to 1 min", c.Cadence)
	}
	for _, p := range c.Drop {
		if _, err := path.Match(p, ""); err != nil {
			r.fail(n, "store: metrics: drop: %q: %v", p, err)
		}
	}
}

// count reads a positive number.
func (r *reader) count(key string, into *int) field {
	return field{key, func(n *yaml.Node) {
		v, err := strconv.Atoi(n.Value)
		if err != nil || v <= 0 || n.Kind != yaml.ScalarNode {
			r.fail(n, "%s: want a positive number", key)
			return
		}
		*into = v
	}}
}

// days reads a length of time that may be given in days: 15d, 36h.
func (r *reader) days(key string, into *time.Duration) field {
	return field{key, func(n *yaml.Node) {
		if number, ok := strings.CutSuffix(n.Value, "d"); ok && n.Kind == yaml.ScalarNode {
			if d, err := strconv.Atoi(number); err == nil && d > 0 && d <= 36500 {
				*into = time.Duration(d) * 24 * time.Hour
				return
			}
		}
		r.span(key, into).read(n)
	}}
}
