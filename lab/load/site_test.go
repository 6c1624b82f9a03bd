package load

import (
	"bytes"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestTheReferenceSiteHasItsSize(t *testing.T) {
	c := Reference(1)
	if got := c.Series(); got != 2_867_200 {
		t.Errorf("%d series, want 2,867,200", got)
	}
	for _, n := range []int{20_000, 1_000_000} {
		if got := Part(1, n).Series(); got < n*9/10 || got > n*11/10 {
			t.Errorf("a part of %d series has %d", n, got)
		}
	}
}

func small(seed uint64, noisy bool) Config {
	return Config{Seed: seed, Nodes: 2, NICs: 8, GPUs: 8, Switches: 1, Ports: 16, PortSeries: 25, NICSeries: 60, GPUSeries: 40, Noisy: noisy}
}

// played returns the frames of a few grids.
func played(t *testing.T, c Config) (out []byte) {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 4 {
		for i := range s.Sources() {
			if out, err = s.AppendFrame(out, i, 1+k%2, telemetry.Time(1e18).Add(telemetry.Duration(2*k)*1e9)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func TestASeedGivesTheSameBytes(t *testing.T) {
	a, b := played(t, small(1, true)), played(t, small(1, true))
	if !bytes.Equal(a, b) {
		t.Error("two runs of one seed differ")
	}
	if bytes.Equal(a, played(t, small(2, true))) {
		t.Error("two seeds do not differ")
	}
}

func TestCountersRiseAndMostSeriesRest(t *testing.T) {
	s, err := New(small(3, false))
	if err != nil {
		t.Fatal(err)
	}
	cat := telemetry.DefaultCatalogue()
	changed, all := 0, 0
	for i := range s.Sources() {
		src := &s.sources[i]
		old := append([]uint64(nil), src.words...)
		if _, err := s.AppendFrame(nil, i, 1, 1e18); err != nil {
			t.Fatal(err)
		}
		for j, w := range src.words {
			all++
			if w != old[j] {
				changed++
			}
			m, ok := cat.Lookup(src.schema.Series(j).Metric)
			if ok && m.Type == telemetry.Counter && w < old[j] {
				t.Fatalf("%s fell", src.schema.Series(j))
			}
		}
	}
	if share := float64(changed) / float64(all); share < 0.1 || share > 0.4 {
		t.Errorf("%.2f of the series changed, want about a fifth", share)
	}
}
