package attribute_test

import (
	"math"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/attribute"
)

const llama = "flops_convention=megatron precision=bf16 peak_flops=989e12 active_params=70e9 layers=80 heads=64 head_dim=128 sequence=8192"

func model(t testing.TB, text string) attribute.Model {
	t.Helper()
	m, err := attribute.ParseModel(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFLOPsByConvention: 6N is 4.2e11, full attention 12·80·64·128·8192 is
// 6.44e10 a token.
func TestFLOPsByConvention(t *testing.T) {
	m := model(t, llama)
	const parameters, attention = 6 * 70e9, 12.0 * 80 * 64 * 128 * 8192
	for convention, want := range map[string]float64{"palm": parameters + attention, "torchtitan": parameters + attention, "megatron": parameters + attention/2, "6n": parameters} {
		got, ok := m.FLOPs(convention)
		if !ok {
			t.Fatalf("%s: not known", convention)
		}
		equal(t, convention, got, want)
	}
	for _, missing := range []string{"layers=80", "active_params=70e9", "sequence=8192"} {
		short := model(t, strings.Replace(llama, missing, "", 1))
		if x, ok := short.FLOPs("palm"); ok {
			t.Errorf("without %s: %v", missing, x)
		}
	}
}

// TestOneConventionForAllJobs: the same run, reported in three ways, has one MFU.
func TestOneConventionForAllJobs(t *testing.T) {
	m := model(t, llama)
	const gpus, tokens = 1024, 900_000.0
	palm, _ := m.FLOPs("palm")
	want := tokens * palm / (gpus * 989e12)
	got, basis := m.PaLM(-1, tokens, gpus)
	equal(t, "from tokens", got, want)
	if basis != attribute.FromTokens {
		t.Errorf("basis %q", basis)
	}
	for _, convention := range []string{"palm", "megatron", "6n", "torchtitan"} {
		own := model(t, strings.Replace(llama, "megatron", convention, 1))
		flops, _ := own.FLOPs(convention)
		reported := tokens * flops / (gpus * 989e12)
		got, basis := own.PaLM(reported, -1, gpus)
		equal(t, convention, got, want)
		if basis != attribute.FromReported {
			t.Errorf("%s: basis %q", convention, basis)
		}
	}
}

// TestWhatCannotBeConvertedIsSaid: a bare figure is kept as it is; none is none.
func TestWhatCannotBeConvertedIsSaid(t *testing.T) {
	var silent attribute.Model
	if x, basis := silent.PaLM(0.4, 1e6, 8); x != 0.4 || basis != attribute.AsReported {
		t.Errorf("%v, %q", x, basis)
	}
	if x, basis := silent.PaLM(-1, 1e6, 8); x >= 0 || basis != attribute.NotDetermined {
		t.Errorf("%v, %q", x, basis)
	}
	m := model(t, llama)
	// A wrong peak gives more than all there is: then it is not used.
	if x, basis := m.PaLM(0.4, 1e12, 8); basis != attribute.FromReported || x > 1 {
		t.Errorf("%v, %q", x, basis)
	}
}

func FuzzModel(f *testing.F) {
	for _, s := range []string{llama, "", "peak_flops=0", "peak_flops=-1", "layers", "layers=1 layers=2", "heads=NaN", "depth=3", "flops_convention=mine", "peak_flops=1e300"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := attribute.ParseModel(s)
		if err != nil {
			if m != (attribute.Model{}) || !strings.HasPrefix(err.Error(), "model: ") {
				t.Fatalf("%+v, %v", m, err)
			}
			return
		}
		if x, _ := m.PaLM(0.5, 1e6, 8); math.IsNaN(x) || x > 1 {
			t.Fatalf("%q: %v", s, x)
		}
	})
}

// TestModelsThatAreNone name the key.
func TestModelsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{"layers": "layers", "layers=1 layers=2": "layers", "heads=NaN": "heads", "depth=3": "depth",
		"flops_convention=mine": "flops_convention", "peak_flops=-1": "peak_flops"} {
		if _, err := attribute.ParseModel(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
