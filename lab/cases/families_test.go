package cases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// standardBits is the digest of a recording of the standard site, as it is without
// worlds. It changes when what all sites have in common does: since decision 116 reads
// wait while a job saves.
const standardBits = "6f53f708d80811f876994fdea66cf4ab6fd5868dde97512cd436148c1e93869e"

func digestOf(t *testing.T, c Case) string {
	t.Helper()
	h := sha256.New()
	if err := WriteTrace(context.Background(), c, Recorded{Trace: h, Truth: io.Discard, Writer: "quintet lab"}); err != nil {
		t.Fatalf("%s: %v", c.Name(), err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestWriteTraceOfTheStandardSiteKeepsItsBits(t *testing.T) {
	if got := digestOf(t, Case{Class: "slow-receiver", Severity: Loud, GPUs: 16, Seed: 2}); got != standardBits {
		t.Errorf("digest %s, was %s: a world's parameter changes the standard site", got, standardBits)
	}
}

func TestWriteTraceOfAWorldIsDeterministic(t *testing.T) {
	standard := digestOf(t, Case{Class: "gpu-slow", Severity: Loud, GPUs: 16, Seed: 2})
	for _, f := range worlds.Families() {
		if f == worlds.CadenceFamily && testing.Short() {
			continue
		}
		c := Case{Class: "gpu-slow", Severity: Loud, GPUs: 16, Seed: 2, World: f}
		first := digestOf(t, c)
		if second := digestOf(t, c); first != second {
			t.Errorf("%s: two recordings of one case differ", c.Name())
		}
		if first == standard {
			t.Errorf("%s is the standard site", c.Name())
		}
	}
}

// capture is a short recording.
type capture struct {
	records []telemetry.Record
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	frames  map[telemetry.Fingerprint][]telemetry.Frame
	ticks   []telemetry.Time
}

// captured plays some seconds of a healthy run of a world.
func captured(t *testing.T, f worlds.Family, seed uint64, seconds int) *capture {
	t.Helper()
	var m maker
	b, err := m.build(Case{Class: Healthy, GPUs: 64, Seed: seed, World: f, Minutes: 1})
	if err != nil {
		t.Fatal(err)
	}
	b.Until = b.stage.world().Jobs.Lead + seconds
	h := &capture{schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, frames: map[telemetry.Fingerprint][]telemetry.Frame{}}
	_, err = b.play(context.Background(), func(r *telemetry.Record) error {
		switch r.Kind {
		case telemetry.SchemaRecord:
			h.schemas[r.Schema.Fingerprint()] = r.Schema
		case telemetry.TickRecord:
			h.ticks = append(h.ticks, r.Tick.At)
		case telemetry.FrameRecord:
			return h.frame(r.Frame)
		case telemetry.EdgeRecord:
			h.records = append(h.records, *r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *capture) frame(b telemetry.EncodedFrame) error {
	header, err := b.Header()
	if err != nil {
		return err
	}
	print := header.Fingerprint
	var d telemetry.Decoder
	var f telemetry.Frame
	if err := d.Decode(b, h.schemas[print], &f); err != nil {
		return err
	}
	f.Words, f.States = slices.Clone(f.Words), slices.Clone(f.States)
	h.frames[print] = append(h.frames[print], f)
	return nil
}

// TestAbsentInstrumentsNeverAppear: whatever a world's profile says is not
// there is in no schema, so in no frame; and other sources still report.
func TestAbsentInstrumentsNeverAppear(t *testing.T) {
	for _, f := range []worlds.Family{worlds.VendorEthernet, worlds.VendorInfiniBand, worlds.Facility} {
		seen := map[string]bool{}
		for seed := uint64(1); seed < 40; seed++ {
			in := worlds.Draw(f, seed).Instruments
			if seen[in.Profile] {
				continue
			}
			seen[in.Profile] = true
			h := captured(t, f, seed, 5)
			if len(h.schemas) == 0 || len(h.frames) == 0 {
				t.Fatalf("%s, seed %d: %d schemas, %d of them with frames", f, seed, len(h.schemas), len(h.frames))
			}
			for print, s := range h.schemas {
				absent(t, &in, s)
				if len(h.frames[print]) > 0 && len(s.Columns) == 0 {
					t.Errorf("%s, %s: frames of a source without columns", f, s.Source)
				}
			}
		}
	}
}

func absent(t *testing.T, in *worlds.Instruments, s *telemetry.Schema) {
	t.Helper()
	for _, c := range s.Columns {
		if !in.Has(s.Entities[0].Kind, c.Metric) {
			t.Errorf("profile %s: %s states %s", in.Profile, s.Source, c.Metric)
		}
		if in.NoRankTimes && strings.HasPrefix(string(c.Metric), "rank_") {
			t.Errorf("profile %s: %s states %s", in.Profile, s.Source, c.Metric)
		}
	}
}

// TestFewSensorsLeavesSome: the profile removes sources of power and cooling and
// no others.
func TestFewSensorsLeavesSome(t *testing.T) {
	for seed := uint64(1); seed < 100; seed++ {
		if worlds.Draw(worlds.Facility, seed).Instruments.Sensors == 0 {
			continue
		}
		few, all := byCollector(captured(t, worlds.Facility, seed, 2)), byCollector(captured(t, worlds.Standard, seed, 2))
		if few["redfish"] == 0 || few["redfish"] >= all["redfish"] || few["dcgm"] != all["dcgm"] || few["gnmi"] != all["gnmi"] {
			t.Errorf("seed %d: sources %v, at the standard site %v", seed, few, all)
		}
		return
	}
}

func byCollector(h *capture) map[string]int {
	out := map[string]int{}
	for _, s := range h.schemas {
		out[s.Source.Collector]++
	}
	return out
}

// TestCadenceIsTheWorlds: sources come at the world's intervals, and those that
// are read one by one hold one device a frame.
func TestCadenceIsTheWorlds(t *testing.T) {
	staggered, lost := false, false
	for seed := uint64(1); seed <= 6; seed++ {
		w := worlds.Draw(worlds.CadenceFamily, seed)
		h := captured(t, worlds.CadenceFamily, seed, 65)
		for print, s := range h.schemas {
			p := w.Cadence.Of(s.Source.Collector, s.Source.Part)
			if p == nil {
				continue
			}
			if want := telemetry.Duration(p.Seconds) * 1e9; s.Cadence != want {
				t.Errorf("seed %d: %s every %v, want %v", seed, s.Source, s.Cadence, want)
			}
			n := len(h.frames[print])
			lost = lost || p.Seconds == 1 && n < 62
			if p.Staggered && len(s.Entities) > 1 {
				staggered = true
				oneByOne(t, s, h.frames[print])
			} else if n > 65/p.Seconds+2 {
				t.Errorf("seed %d: %s: %d frames in 65 s, every %d s", seed, s.Source, n, p.Seconds)
			}
		}
	}
	if !staggered || !lost {
		t.Errorf("one by one: %v, lost scrapes: %v; want both", staggered, lost)
	}
}

// oneByOne wants one device in each frame and every device among them.
func oneByOne(t *testing.T, s *telemetry.Schema, fs []telemetry.Frame) {
	t.Helper()
	n := len(s.Entities)
	devices := map[int]bool{}
	for i := range fs {
		own := map[int]bool{}
		for k := range fs[i].Words {
			if fs[i].State(k) != telemetry.Absent {
				own[k%n] = true
			} else if fs[i].Words[k] != 0 {
				t.Fatalf("%s: a word that is absent is %d", s.Source, fs[i].Words[k])
			}
		}
		if len(own) != 1 {
			t.Fatalf("%s: %d devices in one frame, want 1", s.Source, len(own))
		}
		for d := range own {
			devices[d] = true
		}
	}
	if len(fs) > 3*n && len(devices) != n {
		t.Errorf("%s: %d of %d devices in %d frames", s.Source, len(devices), n, len(fs))
	}
}

// TestNamesColdHasItsNamesAndStartsLate: no standard name of a machine is left,
// and the recording begins with jobs that run.
func TestNamesColdHasItsNamesAndStartsLate(t *testing.T) {
	const seed = 3
	w := worlds.Draw(worlds.NamesCold, seed)
	h := captured(t, worlds.NamesCold, seed, 30)
	standard := map[telemetry.Entity]bool{}
	for _, r := range captured(t, worlds.Standard, seed, 1).records {
		for _, e := range []telemetry.Entity{r.Edge.From, r.Edge.To} {
			standard[e] = w.Names.Entity(e) != e
		}
	}
	for _, s := range h.schemas {
		for _, e := range s.Entities {
			if standard[e] {
				t.Fatalf("%s states %v, a standard name", s.Source, e)
			}
		}
	}
	for i := range h.records {
		if e := h.records[i].Edge; standard[e.From] || standard[e.To] {
			t.Fatalf("edge from %v to %v: a standard name", e.From, e.To)
		}
	}
	if first := h.ticks[0].Sub(Start).Seconds(); int(first) != w.Jobs.Lead+1 {
		t.Errorf("the first tick is at %g s, want %d", first, w.Jobs.Lead+1)
	}
}

func TestFamilyCasesDealsEveryCard(t *testing.T) {
	for _, f := range worlds.Families() {
		seen := map[string]bool{}
		n := DeckSize() * healthyEach / (healthyEach - 1)
		for _, c := range FamilyCases(f, 64, Seeds(n+healthyEach, false)) {
			c.Seed = 0
			seen[c.Name()] = true
		}
		if len(seen) != DeckSize()+1 {
			t.Errorf("%s: %d classes and severities in %d seeds, want %d and healthy", f, len(seen), n, DeckSize())
		}
	}
}

// TestFamilyCasesMixesDomains: 25 seeds have faults of four domains, healthy runs
// and benign changes.
func TestFamilyCasesMixesDomains(t *testing.T) {
	for _, f := range worlds.Families() {
		domains := map[string]int{}
		for _, c := range FamilyCases(f, 64, Seeds(25, true)) {
			domains[domainOf(c)]++
		}
		if domains[Healthy] < 3 || domains["benign"] < 1 || domains["network"] < 4 || domains["computing"] < 1 || domains["software"] < 2 || domains["cooling"]+domains["power"] < 3 {
			t.Errorf("%s: %v", f, domains)
		}
	}
}

func TestParseFamilyRefusesUnknownNames(t *testing.T) {
	if _, err := ParseFamily("gremlins"); err == nil {
		t.Error("ParseFamily accepts gremlins")
	}
}

func domainOf(c Case) string {
	k := fault.Find(c.Class)
	switch {
	case k == nil:
		return Healthy
	case k.Expect == fault.Benign:
		return "benign"
	}
	return k.Domain
}

// readings are the values of a metric of a source's first entity.
func readings(h *capture, part string, metric telemetry.MetricName) []float64 {
	for print, s := range h.schemas {
		if s.Source.Part != part || !strings.HasSuffix(s.Source.Target, "0000") {
			continue
		}
		for c := range s.Columns {
			if s.Columns[c].Metric != metric {
				continue
			}
			var out []float64
			for _, f := range h.frames[print] {
				if at := c * len(s.Entities); f.State(at) == telemetry.Present {
					out = append(out, s.Columns[c].Float(f.Words[at]))
				}
			}
			return out
		}
	}
	return nil
}

// TestNoiseScattersSensors: the bit error rate of a healthy link is constant, so
// what its readings scatter by is noise.
func TestNoiseScattersSensors(t *testing.T) {
	for seed := uint64(1); seed < 50; seed++ {
		n := worlds.Draw(worlds.NoiseFamily, seed).Noise
		if n.Sensors < 2.5 || n.Shape != worlds.Gaussian {
			continue
		}
		const metric = "port_pre_fec_ber"
		usual, noisy := deviation(readings(captured(t, worlds.Standard, seed, 60), "nics", metric)), deviation(readings(captured(t, worlds.NoiseFamily, seed, 60), "nics", metric))
		if usual <= 0 || noisy < 1.8*usual {
			t.Errorf("readings scatter by %.3f, with noise scaled by %.1f by %.3f", usual, n.Sensors, noisy)
		}
		return
	}
}

// deviation is that of numbers over their mean.
func deviation(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
	}
	mean := sum / float64(len(xs))
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares/float64(len(xs))) / mean
}

// TestSeenAcceptsTheNodeOfAFanWithoutSensor and only of that.
func TestSeenAcceptsTheNodeOfAFanWithoutSensor(t *testing.T) {
	fan := telemetry.Entity{Kind: telemetry.Fan, Name: "host/fan1"}
	node := telemetry.Entity{Kind: telemetry.Node, Name: "host"}
	without := Build{sensed: map[telemetry.Entity]bool{}}
	if f := without.seen(score.Fault{Entity: fan}); !slices.Contains(f.Accept, node) {
		t.Errorf("a fan without a sensor accepts %v, want its node", f.Accept)
	}
	with := Build{sensed: map[telemetry.Entity]bool{fan: true}}
	if f := with.seen(score.Fault{Entity: fan}); len(f.Accept) > 0 {
		t.Errorf("a fan with a sensor accepts %v", f.Accept)
	}
}

// TestACaseThatDegradesNobodyIsNone: its truth could not be judged, and a set that
// holds it not be scored.
func TestACaseThatDegradesNobodyIsNone(t *testing.T) {
	c := Case{Class: "qos-misconfig", GPUs: 64, Seed: 1017, World: worlds.NeighbourFamily}
	err := WriteTrace(context.Background(), c, Recorded{Trace: io.Discard, Truth: io.Discard, Writer: "quintet lab"})
	var none *NoCaseError
	if !errors.As(err, &none) {
		t.Errorf("%s: %v; want that it is no case", c.Name(), err)
	}
}
