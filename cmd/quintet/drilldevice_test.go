package main

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// sampled is one series as the history has it.
type sampled struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values"` // seconds, value
}

// device returns how long after the injection the first sample was measured in
// which a gauge or a state that the fault's signature reads at its root left the
// range that it had before by more than that range is wide; 0 where none did. What
// contains the root counts as it: the meter of a pump is its unit's.
func (d *faultDrill) device(t *testing.T) (first time.Duration) {
	t.Helper()
	heard := heardAtRoot(t, d.kind.Name)
	for _, e := range match.Containers(d.where) {
		var answer struct {
			Data struct {
				Result []sampled `json:"result"`
			} `json:"data"`
		}
		query := `{kind="` + string(e.Kind) + `",name="` + e.Name + `"}[7m]`
		if err := readInto(t.Context(), d.url+"/prometheus/api/v1/query?query="+url.QueryEscape(query), &answer); err != nil {
			t.Error(err)
			return 0
		}
		for _, s := range answer.Data.Result {
			if !slices.Contains(heard, telemetry.MetricName(s.Metric["__name__"])) {
				continue
			}
			if after := s.leaves(d.struck); after > 0 && (first == 0 || after < first) {
				first = after
			}
		}
	}
	return first
}

// heardAtRoot lists the gauges and states that a signature reads at its root.
func heardAtRoot(t *testing.T, signature string) (out []telemetry.MetricName) {
	t.Helper()
	book, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	for i := range book.Signatures {
		if book.Signatures[i].Name != signature {
			continue
		}
		for _, c := range book.Signatures[i].Features {
			if c.Reading == nil || c.Reading.Of != explain.OfRoot {
				continue
			}
			if m, ok := telemetry.DefaultCatalogue().Lookup(c.Reading.Metric); ok && m.Type != telemetry.Counter {
				out = append(out, m.Name)
			}
		}
	}
	return out
}

// leaves returns how long after the injection the series left the range it had
// before.
func (s *sampled) leaves(struck time.Time) time.Duration {
	var before []float64
	for _, v := range s.Values {
		at, ok := v[0].(float64)
		text, isText := v[1].(string)
		x, err := strconv.ParseFloat(text, 64)
		if !ok || !isText || err != nil || x != x {
			continue
		}
		after := time.Duration((at - float64(struck.UnixNano())/1e9) * 1e9)
		if after <= 0 {
			before = append(before, x)
			continue
		}
		if len(before) < 2 {
			return 0
		}
		low, high := slices.Min(before), slices.Max(before)
		if cmp.Compare(x, low-(high-low)) < 0 || cmp.Compare(x, high+(high-low)) > 0 {
			return after
		}
	}
	return 0
}
