// Package scaffold writes the folder of a new signature: a fault of hosts that one
// metric shows, with scenarios that come true as they are, to be edited.
//
// It owns the text of the files. It must never know the engine: what it writes is what
// anybody could have written.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strings"
	"text/template"

	"github.com/quintet-dc/quintet/telemetry"
)

//go:embed files
var files embed.FS

// Config describes the fault.
type Config struct {
	Name   string // of the signature: words of a-z and 0-9, joined by '-'
	Domain telemetry.Domain
	Metric telemetry.MetricName // of a node
	Unit   string               // of the metric
	Series string               // that the metric is scraped as; "" writes no mapping
	Like   string               // the signature that it is distinguished from
	// Usual and Faulty are the metric's values on a host that is well, and on one that
	// has the fault.
	Usual, Faulty float64
}

var errName = errors.New("want words of a-z and 0-9, joined by '-'")

// Validate reports what no signature can have.
func (c Config) Validate() error {
	known, declared := telemetry.DefaultCatalogue().Lookup(c.Metric)
	switch {
	case !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(c.Name):
		return fmt.Errorf("name %.60q: %w", c.Name, errName)
	case strings.HasSuffix(string(c.Metric), "_total") || declared && known.Type != telemetry.Gauge:
		return fmt.Errorf("metric %s: want a gauge", c.Metric)
	case !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(string(c.Metric)):
		return fmt.Errorf("metric %.60q: want a name such as node_swap_in_bytes_per_second", c.Metric)
	case c.Usual == c.Faulty || math.IsNaN(c.Usual+c.Faulty) || math.IsInf(c.Usual+c.Faulty, 0):
		return fmt.Errorf("usual %g, faulty %g: want different values", c.Usual, c.Faulty)
	}
	return nil
}

// Declares reports whether the folder has to declare the metric.
func (c Config) Declares() bool {
	_, declared := telemetry.DefaultCatalogue().Lookup(c.Metric)
	return !declared
}

// None and Full are the changes from which the metric is evidence of the fault, and full
// evidence.
func (c Config) None() float64 { return (c.Faulty - c.Usual) / 10 }

// Full is described at None.
func (c Config) Full() float64 { return (c.Faulty - c.Usual) / 2 }

// Files returns the files by name.
func (c Config) Files() (map[string][]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	all, err := template.ParseFS(files, "files/*")
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	err = fs.WalkDir(files, "files", func(_ string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() || name == "metrics.yaml" && !c.Declares() || name == "mapping.yaml" && c.Series == "" {
			return err
		}
		var b bytes.Buffer
		err = all.ExecuteTemplate(&b, name, c)
		out[name] = b.Bytes()
		return err
	})
	return out, err
}
