package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// object is JSON as the page reads it.
type object = map[string]any

// recorded is one of the labelled runs, answered by the engine: the responses of
// the API about it.
type recorded struct {
	revisions []object // oldest first
	end       time.Time
	rows      []row
}

// row is one sample of a recording.
type row struct {
	at             time.Time
	entity, metric string
	value          float64
	gap            bool
}

// answered replays a run of testdata/roce and moves it in time by shift, so that
// it looks like today's.
func answered(t *testing.T, name string, shift time.Duration) *recorded {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "roce", name)
	rec, err := replay.Open(dir, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{}
	config := replay.RunConfig{Engine: engine.Config{Correlate: correlate.Config{
		Catalogue: telemetry.DefaultCatalogue(), Signatures: set.Signatures, Rules: set.Digest,
	}}}
	config.Publish = func(in explain.Incident) { r.revisions = append(r.revisions, moved(asObject(t, in), shift).(object)) }
	result, err := replay.Run(context.Background(), rec, config)
	if err != nil {
		t.Fatal(err)
	}
	r.end = time.Unix(0, int64(result.Last)).Add(shift)
	r.rows = readRows(t, dir, shift)
	return r
}

func asObject(t *testing.T, v any) object {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out object
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

var clockInTitle = regexp.MustCompile(`\bsince (\d\d:\d\d:\d\d)\b`)

// moved returns v with every time in it, and the one in its title, later by
// shift.
func moved(v any, shift time.Duration) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, x := range v {
			out[k] = moved(x, shift)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = moved(x, shift)
		}
		return out
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return stamp(at.Add(shift))
		}
		return clockInTitle.ReplaceAllStringFunc(v, func(s string) string {
			at, err := time.Parse("15:04:05", strings.TrimPrefix(s, "since "))
			if err != nil {
				return s
			}
			return "since " + at.Add(shift).Format("15:04:05")
		})
	}
	return v
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

func readRows(t *testing.T, dir string, shift time.Duration) []row {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "samples.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	lines := csv.NewReader(plain)
	lines.FieldsPerRecord = -1
	lines.ReuseRecord = true
	var out []row
	for first := true; ; first = false {
		line, err := lines.Read()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if first {
			continue
		}
		ns, err := strconv.ParseInt(line[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		value, err := strconv.ParseFloat(line[3], 64)
		out = append(out, row{time.Unix(0, ns).Add(shift), strings.Clone(line[1]), strings.Clone(line[2]), value, err != nil})
	}
}

// last returns the newest revision in a state.
func (r *recorded) last(state string) object {
	for _, in := range slices.Backward(r.revisions) {
		if in["state"] == state {
			return in
		}
	}
	return nil
}

// asOf returns the last open revision as it would be refreshed at an instant.
func (r *recorded) asOf(at time.Time) object {
	in := moved(r.last("open"), 0).(object)
	in["updated"] = stamp(at)
	return in
}

// curves returns the API's curves of an incident's evidence up to an instant.
func (r *recorded) curves(in object, to time.Time) object {
	from := when(in["onset"].(object)["earliest"]).Add(-2 * time.Minute)
	var out []any
	seen := map[string]bool{}
	add := func(entity, metric, role string) {
		key := entity + " " + metric
		if seen[key] {
			return
		}
		seen[key] = true
		if c := r.curve(entity, metric, from, to); c != nil {
			c["role"] = role
			out = append(out, c)
		}
	}
	claims, _ := in["claims"].([]any)
	root := in["root"].(object)["entity"].(string)
	for _, c := range claims {
		entity, role := c.(object)["entity"].(string), "chain"
		switch {
		case strings.HasPrefix(entity, "job:"):
			role = "effect"
		case entity == root:
			role = "root"
		}
		add(entity, c.(object)["metric"].(string), role)
	}
	for _, j := range in["impact"].(object)["jobs"].([]any) {
		add(j.(object)["job"].(string), "job_step_seconds", "effect")
	}
	for _, l := range in["chain"].([]any) {
		entity, role := l.(object)["entity"].(string), "chain"
		if entity == root {
			role = "root"
		}
		add(entity, l.(object)["metric"].(string), role)
	}
	for _, m := range []string{"port_pfc_tx_pause_seconds_total", "port_pfc_rx_pause_seconds_total", "port_rx_bytes_total", "port_tx_bytes_total", "port_ecn_marked_packets_total", "roce_cnp_sent_total"} {
		add(root, m, "witness")
		for _, l := range in["chain"].([]any) {
			add(l.(object)["entity"].(string), m, "witness")
		}
	}
	return object{"id": in["id"], "from": stamp(from), "to": stamp(to), "tick": stamp(to), "curves": out}
}

// curve returns one series between two times, counters as rates; nil if there are
// no samples.
func (r *recorded) curve(entity, metric string, from, to time.Time) object {
	counter := strings.HasSuffix(metric, "_total")
	t, v := []any{}, []any{}
	var before row
	for _, s := range r.rows {
		if s.entity != entity || s.metric != metric || s.gap {
			continue
		}
		value, known := s.value, true
		if counter {
			span := s.at.Sub(before.at).Seconds()
			value, known = (s.value-before.value)/span, span < 4 && s.value >= before.value
		}
		before = s
		if s.at.Before(from) || s.at.After(to) {
			continue
		}
		t = append(t, s.at.UnixMilli())
		if known {
			v = append(v, value)
		} else {
			v = append(v, nil)
		}
	}
	if len(t) == 0 {
		return nil
	}
	return object{"entity": entity, "metric": metric, "rate": counter, "unit": unitOf(metric, counter), "t": t, "v": v}
}

func unitOf(metric string, rate bool) string {
	m, ok := telemetry.DefaultCatalogue().Lookup(telemetry.MetricName(metric))
	unit := "1"
	if ok {
		unit = m.Unit
	}
	if unit == "seconds" {
		unit = "s"
	}
	if rate {
		unit += "/s"
	}
	return unit
}

// job is a line of the jobs list as of an instant, from the steps recorded.
func (r *recorded) job(name string, at time.Time, gpus int) object {
	steps := r.curve(name, "job_step_seconds", at.Add(-4*time.Minute), at)
	t, v := steps["t"].([]any), steps["v"].([]any)
	usual := []float64{}
	for _, s := range r.rows {
		if s.entity == name && s.metric == "job_step_seconds" && len(usual) < 20 {
			usual = append(usual, s.value)
		}
	}
	slices.Sort(usual)
	step, middle := v[len(v)-1].(float64), usual[len(usual)/2]
	last := time.UnixMilli(t[len(t)-1].(int64))
	return object{"job": name, "state": "healthy", "step_seconds": step, "usual_step_seconds": middle, "slowdown": step / middle, "mfu": nil,
		"gpus": gpus, "nodes": gpus, "steps": len(v), "last_step": stamp(last), "incidents": []any{}, "recent": object{"t": t, "v": v}}
}

func when(v any) time.Time {
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v))
	if err != nil {
		panic(err) // the test's own data
	}
	return at
}
