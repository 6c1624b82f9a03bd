package symptom

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestWhoStandsIdleIsTold: two hosts of two GPUs; one GPU launches nothing for a
// quarter of the time, and the job loses that quarter. The engines of the others
// are busy, because they wait in the collective.
func TestWhoStandsIdleIsTold(t *testing.T) {
	metric, _ := telemetry.DefaultCatalogue().Lookup(metricEngine)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: metric})
	s := twoHosts()
	sheet := func(engines ...float32) *Sheet {
		sh := &Sheet{plan: plan, survey: s, rows: make([][]Stat, 6), silent: make([][]bool, 6)}
		for k, v := range engines {
			sh.rows[2+k] = []Stat{{Seen: 1, Mean: v}}
		}
		return sh
	}
	f := Compare(sheet(0.75, 1, 1, 1), sheet(1, 1, 1, 1), Hurt{Slowdown: 4.0 / 3, Excess: 1})
	for name, want := range map[string][3]float64{"n0": {1, 0.5, 1}, "n1": {0, 0, 0}} {
		v := explain.Values{}
		f.Standing(telemetry.Entity{Kind: telemetry.Node, Name: name}, v)
		if got := [3]float64{v[explain.IdleCovers], v[explain.IdleFills], v[explain.IdleDose]}; got != want {
			t.Errorf("%s: covers, fills, dose %v, want %v", name, got, want)
		}
	}
}

// TestABusyGPUIsKnownByItsTensorCores: they are half active while it computes,
// which it does for half of the time, then for three quarters.
func TestABusyGPUIsKnownByItsTensorCores(t *testing.T) {
	metric, _ := telemetry.DefaultCatalogue().Lookup(metricTensor)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: metric})
	s := &Survey{index: map[telemetry.Entity]int32{}}
	g := telemetry.Entity{Kind: telemetry.GPU, Name: "n0/0"}
	s.meet(g, true)
	s.gpus, s.carriers, s.gpusIn, s.ranked = []int32{0}, [][]int32{nil}, []int32{1}, []int32{0}
	sheet := func(mean float32) *Sheet {
		return &Sheet{plan: plan, survey: s, rows: [][]Stat{{{Seen: 9, Mean: mean, Most: 0.5}}}}
	}
	f := Compare(sheet(0.375), sheet(0.25), Hurt{Slowdown: 1.2, Excess: 1})
	if before, now, ok := f.Busy(g); !ok || before != 0.5 || now != 0.75 {
		t.Errorf("%g before, %g now, %v", before, now, ok)
	}
	if _, _, ok := f.Busy(telemetry.Entity{Kind: telemetry.GPU, Name: "n0/1"}); ok {
		t.Error("a GPU that nobody knows is busy")
	}
}

// TestWhatAnEntityLeaves: of three slowed GPUs two are on the first host; when that
// is removed, only the third one is slow.
func TestWhatAnEntityLeaves(t *testing.T) {
	h := newSlowed(t, 0.8, 0.8, 1, 0.7)
	covers := func(name string) float64 {
		v := explain.Values{}
		h.Standing(telemetry.Entity{Kind: telemetry.Node, Name: name}, v)
		return v[explain.Covers]
	}
	if a, b := covers("n0"), covers("n1"); a != 2.0/3 || b != 1.0/3 {
		t.Fatalf("the hosts cover %g and %g", a, b)
	}
	h.Leave(telemetry.Entity{Kind: telemetry.Node, Name: "n0"}, false)
	if a, b := covers("n0"), covers("n1"); a != 0 || b != 1 {
		t.Errorf("without the first host they cover %g and %g", a, b)
	}
	h.Leave(telemetry.Entity{}, false)
	if a, b := covers("n0"), covers("n1"); a != 2.0/3 || b != 1.0/3 {
		t.Errorf("with all of them they cover %g and %g", a, b)
	}
}

// twoHosts is a survey of two hosts with two GPUs each.
func twoHosts() *Survey {
	s := &Survey{index: map[telemetry.Entity]int32{}}
	for _, e := range []telemetry.Entity{{Kind: telemetry.Node, Name: "n0"}, {Kind: telemetry.Node, Name: "n1"},
		{Kind: telemetry.GPU, Name: "n0/0"}, {Kind: telemetry.GPU, Name: "n0/1"}, {Kind: telemetry.GPU, Name: "n1/0"}, {Kind: telemetry.GPU, Name: "n1/1"}} {
		s.meet(e, true)
	}
	s.gpus = []int32{2, 3, 4, 5}
	s.carriers, s.gpusIn, s.ranked = [][]int32{nil, nil, {0}, {0}, {1}, {1}}, []int32{2, 2, 1, 1, 1, 1}, make([]int32, 6)
	s.nodeOf = []int32{0, 1, 0, 0, 1, 1}
	return s
}

// newSlowed returns two hosts of two GPUs whose clocks are at these parts of what
// they were.
func newSlowed(t *testing.T, clocks ...float32) *Contrast {
	t.Helper()
	metric, ok := telemetry.DefaultCatalogue().Lookup(metricClock)
	if !ok {
		t.Fatal("no clock in the catalogue")
	}
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: metric})
	s := twoHosts()
	sheet := func(at func(k int) float32) *Sheet {
		sh := &Sheet{plan: plan, survey: s, rows: make([][]Stat, 6), silent: make([][]bool, 6)}
		for k := range clocks {
			sh.rows[2+k], sh.silent[2+k] = []Stat{{Seen: 1, Mean: at(k)}}, []bool{false}
		}
		return sh
	}
	return Compare(sheet(func(k int) float32 { return clocks[k] }), sheet(func(int) float32 { return 1 }), Hurt{Slowdown: 1.3, Excess: 1})
}
