package book

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// reader is a sink that decodes what it is given into the last word of every
// series, and notes which source each series came from.
type reader struct {
	t       *testing.T
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	words   map[telemetry.Series]uint64
	sources map[telemetry.Series]telemetry.Source
	decoder telemetry.Decoder
}

func newReader(t *testing.T) *reader {
	return &reader{t: t, schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, words: map[telemetry.Series]uint64{}, sources: map[telemetry.Series]telemetry.Source{}}
}

var _ collectors.Emitter = (*reader)(nil)

func (r *reader) Emit(rec *telemetry.Record) {
	if rec.Kind == telemetry.SchemaRecord {
		r.schemas[rec.Schema.Fingerprint()] = rec.Schema
		return
	}
	h, err := rec.Frame.Header()
	if err != nil {
		r.t.Fatal(err)
	}
	s := r.schemas[h.Fingerprint]
	if s == nil {
		r.t.Fatal("a frame before its schema")
	}
	var f telemetry.Frame
	if err := r.decoder.Decode(rec.Frame, s, &f); err != nil {
		r.t.Fatal(err)
	}
	for i, w := range f.Words {
		if f.States == nil || f.States[i] == telemetry.Present {
			k := s.Series(i)
			if was, ok := r.sources[k]; ok && was != s.Source {
				r.t.Fatalf("%v moved from %v to %v", k, was, s.Source)
			}
			r.words[k], r.sources[k] = w, s.Source
		}
	}
}

// TestAnyOrder: readings of series that are found in any order arrive as they
// were noted, each series in one source for good, however the book grows.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 1))
		b, r := New(Config{Collector: "gnmi", Target: "leaf1", Cadence: 1e9}), newReader(t)
		want := map[telemetry.Series]uint64{}
		kinds := []telemetry.Kind{telemetry.Port, telemetry.Switch}
		for round := range 12 {
			noted := map[telemetry.Series]bool{}
			for range draw.IntN(200) {
				e := telemetry.Entity{Kind: kinds[draw.IntN(2)], Name: fmt.Sprintf("leaf1/eth%d", draw.IntN(1+20*round))}
				m := telemetry.MetricName(fmt.Sprintf("m%d", draw.IntN(1+2*round)))
				c, ok := b.Cell(e, telemetry.Column{Metric: m, Type: telemetry.Uint})
				if !ok {
					t.Fatalf("seed %d: no room for %v %s", seed, e, m)
				}
				s := telemetry.Series{Entity: e, Metric: m}
				want[s] = draw.Uint64()
				noted[s] = true
				b.Set(c, want[s])
			}
			n, err := b.Emit(r, telemetry.Instant{Source: telemetry.Time(round+1) * 1e9})
			if err != nil || n != len(noted) {
				t.Fatalf("seed %d: %d readings of %d, %v", seed, n, len(noted), err)
			}
		}
		if len(r.words) != len(want) {
			t.Fatalf("seed %d: %d series of %d", seed, len(r.words), len(want))
		}
		for s, w := range want {
			if r.words[s] != w {
				t.Fatalf("seed %d: %v is %d, want %d", seed, s, r.words[s], w)
			}
		}
	}
}

// TestAbsenceSaysNothing: a series that was not set since the last frame is not
// emitted again, and is distinguished from a gap.
func TestAbsenceSaysNothing(t *testing.T) {
	b, r := New(Config{Collector: "redfish", Target: "bmc1"}), newReader(t)
	e := telemetry.Entity{Kind: telemetry.Node, Name: "n1"}
	power, _ := b.Cell(e, telemetry.Column{Metric: "node_power_watts", Type: telemetry.Float})
	inlet, _ := b.Cell(e, telemetry.Column{Metric: "inlet_celsius", Type: telemetry.Float})
	b.SetFloat(power, 5200)
	b.SetFloat(inlet, math.NaN())
	if n, err := b.Emit(r, telemetry.Instant{Source: 1e9}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	clear(r.words)
	b.SetFloat(inlet, 24)
	if _, err := b.Emit(r, telemetry.Instant{Source: 2e9}); err != nil {
		t.Fatal(err)
	}
	if len(r.words) != 1 || math.Float64frombits(r.words[telemetry.Series{Entity: e, Metric: "inlet_celsius"}]) != 24 {
		t.Fatalf("%v", r.words)
	}
	clear(r.words)
	if n, err := b.Emit(r, telemetry.Instant{Source: 3e9}); n != 0 || err != nil || len(r.words) > 0 {
		t.Fatal(n, err, r.words)
	}
}

// TestBounds: what there is no room for gets no cell, and neither does a metric
// whose type is another than before.
func TestBounds(t *testing.T) {
	b := New(Config{Collector: "scrape", Target: "x", Limit: 3})
	e := telemetry.Entity{Kind: telemetry.Collector, Name: "p/scrape"}
	for i := range 5 {
		_, ok := b.Cell(e, telemetry.Column{Metric: telemetry.MetricName(fmt.Sprintf("m%d", i)), Type: telemetry.Uint})
		if ok != (i < 3) {
			t.Errorf("series %d: %v", i, ok)
		}
	}
	if _, ok := b.Cell(e, telemetry.Column{Metric: "m0", Type: telemetry.Float}); ok {
		t.Error("m0 with another type")
	}
	if c, ok := b.Cell(e, telemetry.Column{Metric: "m0", Type: telemetry.Uint}); !ok || !c.Known() {
		t.Error("m0 again")
	}
	if _, ok := New(Config{}).Cell(telemetry.Entity{Kind: "port", Name: "two words"}, telemetry.Column{Metric: "m", Type: telemetry.Uint}); ok {
		t.Error("a name with a space")
	}
	// A whole switch in every metric of the lean set, three times over, fits.
	b = New(Config{Collector: "gnmi", Target: "leaf"})
	for p := range 64 {
		for m := range 100 {
			e := telemetry.Entity{Kind: telemetry.Port, Name: fmt.Sprintf("leaf/eth%d", p)}
			if _, ok := b.Cell(e, telemetry.Column{Metric: telemetry.MetricName(fmt.Sprintf("m%d", m)), Type: telemetry.Uint}); !ok {
				t.Fatalf("port %d metric %d has no room", p, m)
			}
		}
	}
}
