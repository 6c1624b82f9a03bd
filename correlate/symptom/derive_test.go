package symptom

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// sheetOfGPUs is one sample of one column of the GPUs of twoHosts, in order.
func sheetOfGPUs(plan *Plan, s *Survey, means []float32) *Sheet {
	sh := plan.sheet(s, Span{})
	for k, v := range means {
		sh.rows[2+k] = []Stat{{Seen: 1, Mean: v}}
	}
	return sh
}

// TestIdleGPUsAreCounted: two hosts of two GPUs; one GPU launches nothing for a
// quarter of the time, and the job loses that quarter. The engines of the others
// are busy, because they wait in the collective.
func TestIdleGPUsAreCounted(t *testing.T) {
	metric, _ := telemetry.DefaultCatalogue().Lookup(metricEngine)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: metric})
	s := twoHosts()
	sheet := func(means ...float32) *Sheet { return sheetOfGPUs(plan, s, means) }
	f := Compare(sheet(0.75, 1, 1, 1), sheet(1, 1, 1, 1), Degradation{Slowdown: 4.0 / 3, Excess: 1})
	for name, want := range map[string][3]float64{"n0": {1, 0.5, 1}, "n1": {0, 0, 0}} {
		v := explain.Values{}
		f.Placement(telemetry.Entity{Kind: telemetry.Node, Name: name}, v)
		if got := [3]float64{v[explain.IdleRecall], v[explain.IdlePrecision], v[explain.IdleExplained]}; got != want {
			t.Errorf("%s: covers, fills, dose %v, want %v", name, got, want)
		}
	}
}

// TestIdleGPUsByTheirReasons: where no engine is measured, clocks that are low because nothing
// runs show it, unless none ever states that.
func TestIdleGPUsByTheirReasons(t *testing.T) {
	metric, _ := telemetry.DefaultCatalogue().Lookup(metricReasons)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: metric, bits: reasonIdle})
	plan.time()
	s := twoHosts()
	sheet := func(means ...float32) *Sheet { return sheetOfGPUs(plan, s, means) }
	for by, want := range map[float32]float64{0.25: 1, 0: 0} {
		v := explain.Values{}
		Compare(sheet(by, by, 0, 0), sheet(0, 0, 0, 0), Degradation{Slowdown: 4.0 / 3, Excess: 1}).Placement(telemetry.Entity{Kind: telemetry.Node, Name: "n0"}, v)
		if got, seen := v[explain.IdleExplained]; got != want || seen != (by > 0) {
			t.Errorf("idle for %v of the time: explains %v, %v", by, got, seen)
		}
	}
}

// TestIdleGPUsOfOneHost: what idles on one host alone is no stall of the job's input.
func TestIdleGPUsOfOneHost(t *testing.T) {
	metric, _ := telemetry.DefaultCatalogue().Lookup(metricEngine)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: metric})
	job := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	for name, c := range map[string]struct {
		engines [4]float32
		want    float64
		seen    bool
	}{
		"both of one host": {[4]float32{0.75, 0.75, 1, 1}, 1, true},
		"one of each":      {[4]float32{0.75, 1, 0.75, 1}, 0.5, true},
		"none":             {[4]float32{1, 1, 1, 1}, 0, false},
	} {
		s := twoHosts()
		s.meet(job, true)
		s.kinds = map[telemetry.Kind][]int32{telemetry.Node: {0, 1}}
		s.carriers = [][]int32{nil, nil, {0, 6}, {0, 6}, {1, 6}, {1, 6}, nil}
		s.gpusIn, s.ranked, s.nodeOf = append(s.gpusIn, 4), append(s.ranked, 0), append(s.nodeOf, -1)
		sheet := func(means ...float32) *Sheet { return sheetOfGPUs(plan, s, means) }
		v := explain.Values{}
		Compare(sheet(c.engines[:]...), sheet(1, 1, 1, 1), Degradation{Slowdown: 4.0 / 3, Excess: 1}).Placement(job, v)
		if got, seen := v[explain.IdleOnOneHost]; got != c.want || seen != c.seen {
			t.Errorf("%s: %v, %v", name, got, seen)
		}
	}
}

// TestTheOnlyHostHasAllIdleGPUs: which part of a job's idle GPUs are a host's own shows
// nothing where it is the only one.
func TestTheOnlyHostHasAllIdleGPUs(t *testing.T) {
	metric, _ := telemetry.DefaultCatalogue().Lookup(metricEngine)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: metric})
	for _, hosts := range [][]int32{{0, 1}, {0}} {
		s := twoHosts()
		s.kinds = map[telemetry.Kind][]int32{telemetry.Node: hosts}
		v := explain.Values{}
		Compare(sheetOfGPUs(plan, s, []float32{0.75, 0.75, 1, 1}), sheetOfGPUs(plan, s, []float32{1, 1, 1, 1}), Degradation{Slowdown: 4.0 / 3, Excess: 1}).
			Placement(s.all[0], v)
		if got, seen := v[explain.IdleRecall]; seen != (len(hosts) > 1) || seen && got != 1 {
			t.Errorf("of %d hosts: %v, %v", len(hosts), got, seen)
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
		sh := plan.sheet(s, Span{})
		sh.rows[0] = []Stat{{Seen: 9, Mean: mean, Most: 0.5}}
		return sh
	}
	f := Compare(sheet(0.375), sheet(0.25), Degradation{Slowdown: 1.2, Excess: 1})
	if before, now, ok := f.Busy(g); !ok || before.Of != 0.5 || now.Of != 0.75 {
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
		h.Placement(telemetry.Entity{Kind: telemetry.Node, Name: name}, v)
		return v[explain.Recall]
	}
	if a, b := covers("n0"), covers("n1"); a != 2.0/3 || b != 1.0/3 {
		t.Fatalf("the hosts cover %g and %g", a, b)
	}
	h.Exclude(telemetry.Entity{Kind: telemetry.Node, Name: "n0"}, false)
	if a, b := covers("n0"), covers("n1"); a != 0 || b != 1 {
		t.Errorf("without the first host they cover %g and %g", a, b)
	}
	h.Exclude(telemetry.Entity{}, false)
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
		sh := plan.sheet(s, Span{})
		for k := range clocks {
			sh.rows[2+k], sh.stale[2+k] = []Stat{{Seen: 1, Mean: at(k)}}, []bool{false}
		}
		return sh
	}
	return Compare(sheet(func(k int) float32 { return clocks[k] }), sheet(func(int) float32 { return 1 }), Degradation{Slowdown: 1.3, Excess: 1})
}

// TestWorkIsSeenInTheActivityOfGPUs: a step is twice as long. Where the GPUs are as
// busy as before they do twice the work, where they are half as busy they wait; a
// single sample may have missed the waiting.
func TestWorkIsSeenInTheActivityOfGPUs(t *testing.T) {
	catalogue := telemetry.DefaultCatalogue()
	tensor, _ := catalogue.Lookup(metricTensor)
	active, _ := catalogue.Lookup(metricActive)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: tensor})
	plan.add(telemetry.GPU, column{metric: active})
	s := twoHosts()
	job := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	s.meet(job, true)
	s.carriers, s.gpusIn, s.ranked, s.kinds = append(s.carriers, nil), append(s.gpusIn, 4), append(s.ranked, 0), map[telemetry.Kind][]int32{}
	sheet := func(by *telemetry.Metric, seen int32, mean float32) *Sheet {
		sh := plan.sheet(s, Span{})
		for k := range 4 {
			sh.rows[2+k] = make([]Stat, 2)
			sh.rows[2+k][plan.find(telemetry.GPU, by.Name, 0)] = Stat{Seen: seen, Mean: mean, Most: min(0.4, 4*mean)}
		}
		return sh
	}
	sure := math.Sqrt(4.0 / 25 / 29)
	for name, c := range map[string]struct {
		by        *telemetry.Metric
		seen      int32
		was, now  float32
		steps     bool
		want, err float64
		ok        bool
	}{
		"as busy":                {tensor, 25, 0.4, 0.4, true, 1, sure, true},
		"half as busy":           {tensor, 25, 0.4, 0.2, true, 0, sure, true},
		"thrice the work":        {tensor, 25, 0.4, 0.6, true, 0, sure, true},
		"one sample":             {tensor, 1, 0.4, 0.4, true, 1, math.Sqrt(0.8), true},
		"of multiprocessors":     {active, 25, 0.4, 0.4, true, 1, sure, true},
		"of a service's latency": {tensor, 25, 0.4, 0.4, false, 0, 0, false},
		"never busy":             {tensor, 25, 0, 0, true, 0, 0, false},
	} {
		f := Compare(sheet(c.by, c.seen, c.now), sheet(c.by, 25, c.was), Degradation{Slowdown: 2, Excess: 1, Steps: c.steps})
		v := explain.Values{}
		s.kinds[telemetry.Node] = []int32{0}
		if f.Placement(job, v); len(v) > 0 && v[explain.ComputeUniform] != 0 {
			t.Errorf("%s: on one host all are alike, %v", name, v)
		}
		s.kinds[telemetry.Node] = []int32{0, 1}
		f.Placement(job, v)
		got, ok := v[explain.ComputeUniform]
		if err := v[explain.ComputeUniform.Err()]; ok != c.ok || math.Abs(got-c.want) > 1e-6 || math.Abs(err-c.err) > 1e-6 {
			t.Errorf("%s: %v ± %v, %v, want %v ± %v, %v", name, got, err, ok, c.want, c.err, c.ok)
		}
		reported := explain.Values{explain.ComputeUniform: 0.3}
		if f.Placement(job, reported); reported[explain.ComputeUniform] != 0.3 || reported[explain.ComputeUniform.Err()] != 0 {
			t.Errorf("%s: what ranks report became %v", name, reported)
		}
	}
}

// TestAJobOfTwoHostsWaitsForOne: the GPUs of one of two hosts compute twice as long, and
// those of the other wait for them: that is no work of all.
func TestAJobOfTwoHostsWaitsForOne(t *testing.T) {
	catalogue := telemetry.DefaultCatalogue()
	tensor, _ := catalogue.Lookup(metricTensor)
	plan := &Plan{}
	plan.add(telemetry.GPU, column{metric: tensor})
	s := twoHosts()
	job := telemetry.Entity{Kind: telemetry.Job, Name: "train"}
	s.meet(job, true)
	s.carriers, s.gpusIn, s.ranked, s.kinds = append(s.carriers, nil), append(s.gpusIn, 4), append(s.ranked, 0), map[telemetry.Kind][]int32{}
	sheet := func(mean ...float32) *Sheet {
		sh := plan.sheet(s, Span{})
		for k, m := range mean {
			sh.rows[2+k] = []Stat{{Seen: 25, Mean: m, Most: 0.4}}
		}
		return sh
	}
	f := Compare(sheet(0.4, 0.4, 0.2, 0.2), sheet(0.4, 0.4, 0.4, 0.4), Degradation{Slowdown: 2, Excess: 1, Steps: true})
	v := explain.Values{}
	if f.Placement(job, v); math.Abs(v[explain.ComputeUniform]) > 1e-6 {
		t.Errorf("all compute longer by %v of the loss", v[explain.ComputeUniform])
	}
}
