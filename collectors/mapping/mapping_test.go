package mapping

import (
	"math"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestDecode: mistakes in a mapping are reported with their position.
func TestDecode(t *testing.T) {
	const head = "mapping: m\nentities: {gpu: {of: 'gpu:{node}/{gpu}'}}\nrules:\n  - "
	for text, want := range map[string]string{
		"":                      "1:1: mapping: want the mapping's name",
		"rules: []":             "1:1: mapping: want the mapping's name",
		"mapping: m\nrules: {}": "2:8: rules: want a list, found keys and values",
		head + "{from: a, of: gpu, metric: gpu_power_watt, scal: 3}":    `4:48: rules: unknown key "scal"; did you mean scale?`,
		head + "{from: a, of: gpu, metric: node_power_watts}":           "4:32: rules.0.metric: node_power_watts is declared for [node], not for a gpu",
		head + "{from: a, of: cpu, metric: x}":                          `4:19: rules.0.of: "cpu" is no entity of this file: want one of [gpu], or kind:name`,
		head + "{from: a, of: 'cpu:{x}', metric: x}":                    `4:19: rules.0.of: "cpu:{x}": want kind:name with a kind of entity`,
		head + "{from: a, of: 'gpu:{x', metric: x}":                     `4:19: rules.0.of: "{x": want a variable between { and }`,
		head + "{from: 'a(', of: gpu, metric: x}":                       "4:12: rules: from: error parsing regexp: missing closing ): `^(?:a()$`",
		head + "{from: a, of: gpu, metric: x, where: {l: '('}}":         "4:46: rules: where: l: error parsing regexp: missing closing ): `^(?:()$`",
		head + "{from: a, of: gpu, metric: x, scale: 1e99}":             "4:42: rules: scale: 1e99 cannot be kept exactly",
		head + "{from: a, of: gpu, metric: x, scale: much}":             `4:42: rules: scale: want a number, found "much"`,
		head + "{from: a, of: gpu, metric: x, scale: 0}":                "4:42: rules.0.scale: zero",
		head + "{from: a, of: gpu, metric: x_watts, unit: Cel}":         `4:47: rules.0.unit: "Cel" is no unit of x_watts`,
		head + "{from: a, of: gpu, metric: x, scale: 0.3, as: decimal}": "4:42: rules.0.scale: 0.3: decimal requires 1, 0.1, 0.01",
		head + "{from: a, of: gpu, metric: x, reduce: avg}":             `4:43: rules: reduce: want one of first, sum, max, min, mean, found "avg"`,
		head + "{of: gpu, metric: x}":                                   "4:5: rules.0: want from, of and metric",
		head + "{from: a, of: gpu, metric: x, to: y}":                   `4:35: rules: to is now metric: run quintet config migrate FILE`,
		"mapping: m\nrefuse:\n  - {from: a, reason: unsupported}":       "3:5: refuse: want from, reason and why",
		"mapping: m\nrefuse:\n  - {from: a, reason: ugly, why: b}":      "3:23: refuse: reason: want one of [denied duplicate",
		"mapping: m\nblank: [[3, 1]]":                                   "2:8: blank: want a number, or the first and the last of a range",
		"mapping: m\nentities: {gpu: {in: 'node:{n}'}}":                 "2:17: entities: gpu: no of",
	} {
		_, err := DecodeSeries([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}

// FuzzDecode: no text makes it panic.
func FuzzDecode(f *testing.F) {
	for _, name := range Names() {
		b, err := embedded.ReadFile("files/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("mapping: m\nrules:\n  - {from: [a, 'b(?P<c>.)'], of: 'gpu:{c}', metric: d, histogram: true}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := DecodeSeries(b)
		if err == nil {
			NewMapper(file).find("DCGM_FI_DEV_SM_CLOCK", nil, []Label{{"gpu", "0"}})
		}
	})
}

// TestMetricsAreDeclared: a metric that a mapping names is one of the catalogue.
func TestMetricsAreDeclared(t *testing.T) {
	c := telemetry.DefaultCatalogue()
	for _, name := range Names() {
		f, err := Shipped(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range f.rules {
			if r.refuse != "" {
				continue
			}
			m := r.Column.Metric
			if r.as == histogram {
				m += "_p99"
			}
			if _, ok := c.Lookup(m); !ok {
				t.Errorf("%s: nobody declares %s", name, m)
			}
			if d, ok := c.Lookup(m); ok && d.Type == telemetry.Counter && r.as == plain && r.Column.Type == telemetry.Float {
				t.Errorf("%s: %s is a counter and carried as a float", name, m)
			}
		}
	}
}

// TestQuantile: closed forms.
func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		bounds, counts []float64
		p50, p99       float64
	}{
		{[]float64{1, inf}, []float64{100, 100}, 0.5, 0.99},
		{[]float64{1, 2, inf}, []float64{0, 100, 100}, 1.5, 1.99},
		{[]float64{1, 2, inf}, []float64{50, 50, 100}, 1, 2},
		{[]float64{1, 3, inf}, []float64{40, 80, 80}, 1, 2.96},
		{[]float64{-1, 1, inf}, []float64{80, 80, 80}, -1, -1},
		{[]float64{inf}, []float64{5}, math.NaN(), math.NaN()},
		{[]float64{1, inf}, []float64{0, 0}, math.NaN(), math.NaN()},
		{nil, nil, math.NaN(), math.NaN()},
	} {
		for q, want := range map[float64]float64{0.5: c.p50, 0.99: c.p99} {
			if got := quantile(q, c.bounds, c.counts); math.Abs(got-want) > 1e-12 || (got != got) != (want != want) {
				t.Errorf("%v of %v at %v: %v, want %v", q, c.counts, c.bounds, got, want)
			}
		}
	}
}

// TestReset: a histogram whose engine started over has the requests since then.
func TestReset(t *testing.T) {
	var g gain
	for i, c := range []struct {
		v, want float64
		known   bool
	}{{10, 0, false}, {15, 5, true}, {15, 0, true}, {3, 3, true}, {4, 1, true}} {
		got, ok := g.more(c.v)
		if ok != c.known || ok && got != c.want {
			t.Errorf("reading %d: %v, %t", i, got, ok)
		}
	}
}

// FuzzIntake: for any names, labels and numbers, every frame can be encoded.
func FuzzIntake(f *testing.F) {
	f.Add("DCGM_FI_DEV_SM_CLOCK", "gpu", "0", 1410.0, int64(0))
	f.Add("vllm:time_to_first_token_seconds_bucket", "le", "0.5", 3.0, int64(5))
	f.Add("x_bucket", "le", "+Inf", math.NaN(), int64(-1))
	f.Add("a", "b", "c\x00\n\"", math.Inf(-1), int64(1)<<62)
	var files []*File
	for _, name := range Names() {
		file, err := Shipped(name)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, file)
	}
	m := NewMapper(files...)
	f.Fuzz(func(t *testing.T, name, label, value string, v float64, at int64) {
		in := NewIntake(IntakeConfig{Mapper: m, Target: []Label{{"node", "n"}, {"job", "j"}}, MaxForeign: 8,
			Foreign: telemetry.Entity{Kind: telemetry.Collector, Name: "scrape/x"}, Book: book.Config{Collector: "scrape", Target: "x", Limit: 8}})
		s := Series{Name: name, Labels: []Label{{label, value}}, First: FloatNumber(v)}
		for i := range 3 {
			e := in.Known([]byte(name))
			if e == nil {
				e = in.Understand(name, s)
			}
			in.Take(e, telemetry.Time(at), FloatNumber(v+float64(i)))
			now := telemetry.Time(1e18 + int64(i)*1e9)
			if _, err := in.Emit(nobody{}, telemetry.Instant{Source: now, Received: now}, true); err != nil {
				t.Fatal(err)
			}
		}
	})
}

type nobody struct{}

func (nobody) Emit(*telemetry.Record) {}
