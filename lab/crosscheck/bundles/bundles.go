// Package bundles writes cases of the second simulator as labelled bundles: a
// folder of plain files for each (docs/format-bundle.md).
//
// It owns the file names and number formats. It must never change a value.
package bundles

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/quintet-dc/quintet/lab/crosscheck"
)

// Write writes a case into a new folder of its name within dir.
func Write(dir string, c *crosscheck.Case) error {
	at := filepath.Join(dir, c.Name)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("write case %s: %w", c.Name, err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"samples.csv.gz": func(w io.Writer) error { return samples(w, c) },
		"events.csv":     func(w io.Writer) error { return events(w, c) },
		"topology.json":  func(w io.Writer) error { return topology(w, c) },
		"truth.json":     func(w io.Writer) error { return document(w, c.Truth) },
		"bundle.json": func(w io.Writer) error {
			return document(w, map[string]any{"grid_ns": 1_000_000_000, "lateness_ns": 2_000_000_000, "class": c.Truth.Class})
		},
	} {
		if err := file(filepath.Join(at, name), write); err != nil {
			return fmt.Errorf("write case %s: %w", c.Name, err)
		}
	}
	return nil
}

func file(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func document(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// number formats a value with as many digits as a device would send.
func number(dst []byte, v float64) []byte {
	switch {
	case v == float64(int64(v)):
		return strconv.AppendInt(dst, int64(v), 10)
	case v < 1e-4 && v > -1e-4:
		return strconv.AppendFloat(dst, v, 'f', 14, 64)
	}
	return strconv.AppendFloat(dst, v, 'f', 5, 64)
}

func samples(w io.Writer, c *crosscheck.Case) error {
	z := gzip.NewWriter(w)
	b := bufio.NewWriter(z)
	received := len(c.Samples) > 0 && c.Samples[0].Received != 0
	header := "time_ns,entity,metric,value"
	if received {
		header += ",received_ns"
	}
	fmt.Fprintln(b, header)
	var line []byte
	for i := range c.Samples {
		s := &c.Samples[i]
		line = append(strconv.AppendInt(line[:0], s.Time, 10), ',')
		line = append(append(line, s.Entity...), ',')
		line = append(append(line, s.Metric...), ',')
		line = number(line, s.Value)
		if received {
			line = strconv.AppendInt(append(line, ','), s.Received, 10)
		}
		b.Write(append(line, '\n'))
	}
	return errors.Join(b.Flush(), z.Close())
}

func events(w io.Writer, c *crosscheck.Case) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "time_ns,entity,name,text")
	for _, e := range c.Events {
		fmt.Fprintf(b, "%d,%s,%s,%q\n", e.Time, e.Entity, e.Name, e.Text)
	}
	return b.Flush()
}

func topology(w io.Writer, c *crosscheck.Case) error {
	type entity struct {
		ID    string            `json:"id"`
		Attrs map[string]string `json:"attrs"`
	}
	type edge struct {
		From     string         `json:"from"`
		To       string         `json:"to"`
		Relation string         `json:"rel"`
		Attrs    map[string]any `json:"attrs,omitempty"`
	}
	var out struct {
		Entities []entity `json:"entities"`
		Edges    []edge   `json:"edges"`
	}
	known := map[string]bool{}
	for _, e := range c.Edges {
		known[e.From], known[e.To] = true, true
	}
	for i := range c.Samples {
		known[c.Samples[i].Entity] = true
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		attrs := map[string]string{}
		if tier := c.Switches[id]; tier != "" {
			attrs["tier"] = tier
		}
		out.Entities = append(out.Entities, entity{id, attrs})
	}
	for _, e := range c.Edges {
		out.Edges = append(out.Edges, edge{e.From, e.To, e.Relation, e.Attrs})
	}
	return document(w, out)
}
