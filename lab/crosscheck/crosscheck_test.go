package crosscheck

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// small returns a plan with one dense job without a fault.
func small(t *testing.T, kind Kind) *plan {
	t.Helper()
	for seed := uint64(1); seed < 200; seed++ {
		p := newPlan(kind, seed)
		if p.jobs[0].moe || p.jobs[0].stages > 1 || p.jobs[0].interval > 0 || p.jobs[0].step > 4 || len(p.jobs) > 1 && p.jobs[1].begin == 0 && p.jobs[1].end == 0 {
			continue
		}
		p.jobs = p.jobs[:1]
		return p
	}
	t.Fatal("no seed draws a small plan")
	return nil
}

func TestGenerateIsDeterministic(t *testing.T) {
	for _, kind := range []Kind{IB, RoCE} {
		a, errA := Generate(kind, 7)
		b, errB := Generate(kind, 7)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two runs of seed 7 differ", kind)
		}
	}
}

func TestGenerateNamesOnlyKnownEntities(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		c, err := Generate(RoCE, seed)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, e := range c.Edges {
			known[e.From], known[e.To] = true, true
		}
		for e := range c.Switches { // order-independent: a set
			known[e] = true
		}
		for _, f := range c.Truth.Faults {
			for _, e := range append([]string{f.Entity}, f.Accept...) {
				if !known[e] && f.Signature != "sm-failover" {
					t.Errorf("case %s: %s is in no edge", c.Name, e)
				}
			}
			if f.Onset < c.Samples[0].Time || f.End <= f.Onset {
				t.Errorf("case %s: fault from %d to %d", c.Name, f.Onset, f.End)
			}
		}
		if !slices.IsSortedFunc(c.Samples, func(a, b Sample) int { return int(max(-1, min(1, a.Time-b.Time))) }) {
			t.Errorf("case %s: samples are not sorted by time", c.Name)
		}
	}
}

func TestUndisturbedStepsAreConstantButForNoise(t *testing.T) {
	for _, kind := range []Kind{IB, RoCE} {
		p := small(t, kind)
		w := newWorld(p, nil, nil)
		w.run()
		var lengths []float64
		for _, s := range w.jobs[0].steps[3:] {
			lengths = append(lengths, s.end-s.begin)
		}
		slices.Sort(lengths)
		low, high := lengths[len(lengths)/20], lengths[len(lengths)*19/20]
		if high/low > 1.09 {
			t.Errorf("%s: 5th and 95th percentile of the steps are %.3f s and %.3f s", kind, low, high)
		}
		if median := lengths[len(lengths)/2]; math.Abs(median/p.jobs[0].step-1) > .3 {
			t.Errorf("%s: median step %.3f s, drawn as %.3f s", kind, median, p.jobs[0].step)
		}
	}
}

// TestBytesAreConserved holds what one end of each cable has sent against what
// the other has received, and what a job has sent against its steps.
func TestBytesAreConserved(t *testing.T) {
	p := small(t, IB)
	p.profile.miss = 0
	start := newRecorder(p)
	start.begin(newWorld(p, nil, start))
	rec := newRecorder(p)
	w := newWorld(p, nil, rec)
	w.run()
	total := 0.0
	for i := range rec.meters {
		peer := p.site.ports[i].peer
		out := rec.meters[i].count[sent] - start.meters[i].count[sent]
		in := rec.meters[peer].count[received] - start.meters[peer].count[received]
		idle := 33000 * p.length
		if math.Abs(out-in) > 2*idle+1e-6*out {
			t.Fatalf("%s sent %.0f bytes, its peer received %.0f", p.site.ports[i].entity, out, in)
		}
		if p.site.ports[i].nic {
			total += out
		}
	}
	j := w.jobs[0]
	hops := float64(len(j.spec.nodes) * p.site.rails)
	want := float64(len(j.steps)) * hops * (j.bytes[1] + j.bytes[0]*float64(j.parts-1))
	if math.Abs(total/want-1) > .1 {
		t.Errorf("the job's adapters sent %.3g bytes, its steps ask for %.3g", total, want)
	}
}

// struck returns a run of a plan with conditions changed from the onset on,
// with its instruments.
func struck(p *plan, apply func(*conditions, float64)) *world {
	s := &strike{onset: p.length / 2, end: p.length, size: 1, apply: apply}
	w := newWorld(p, s, newRecorder(p))
	w.run()
	return w
}

// lastSteps returns the mean of a job's last five steps, pauses between them included.
func lastSteps(w *world) float64 {
	steps := w.jobs[0].steps
	return (steps[len(steps)-1].end - steps[len(steps)-5].begin) / 5
}

func TestFaultsLowerWhatTheyShould(t *testing.T) {
	p := small(t, RoCE)
	p.jobs[0].overlap = 0
	p.jobs[0].comm = .3
	n := p.jobs[0].nodes[1]
	nic, leaf, g := p.site.nics[n][0], p.site.leafPort[n][0], n*gpusPerNode+2
	usual := struck(p, func(*conditions, float64) {})
	for _, c := range []struct {
		name  string
		apply func(*conditions, float64)
		check func(w *world) bool
	}{
		{"a receiver that takes a quarter is paused for", func(c *conditions, _ float64) { c.take[leaf] = .25 }, func(w *world) bool {
			paused := w.rec.meters[leaf].count[waited] - usual.rec.meters[leaf].count[waited]
			return paused > 5 && math.Abs(w.rec.meters[nic].count[pausing]-usual.rec.meters[nic].count[pausing]-paused) < 1e-3*paused
		}},
		{"a GPU at half its clock draws less and is waited for", func(c *conditions, _ float64) { c.clock[g] = .5 }, func(w *world) bool {
			return w.gpus[g].clock < .51 && w.gpus[g].joules < usual.gpus[g].joules
		}},
		{"a lower limit holds the power", func(c *conditions, _ float64) { c.limit[g] = 400 }, func(w *world) bool {
			return w.gpus[g].watts < 401 && w.gpus[g].throttled[0] > 10
		}},
		{"a loose plate makes heat hold the clock", func(c *conditions, _ float64) { c.plate[g] = 5 }, func(w *world) bool {
			return w.gpus[g].throttled[1] > 10 && w.gpus[g].die < hotLimit+4 && w.gpus[g].clock < .9
		}},
		{"a lossy cable is told by the far end", func(c *conditions, _ float64) { c.loss[nic], c.disturb[nic] = .002, "errors" }, func(w *world) bool {
			return w.rec.meters[leaf].count[damaged] > usual.rec.meters[leaf].count[damaged]+100
		}},
		{"input that comes late lets adapters rest", func(c *conditions, _ float64) { c.input[0] = p.jobs[0].step }, func(w *world) bool {
			return w.rec.meters[nic].count[sent] < usual.rec.meters[nic].count[sent]
		}},
	} {
		w := struck(p, c.apply)
		if lastSteps(w) < 1.05*lastSteps(usual) {
			t.Errorf("%s: steps of %.3f s instead of %.3f s", c.name, lastSteps(w), lastSteps(usual))
		}
		if !c.check(w) {
			t.Errorf("%s: it does not", c.name)
		}
	}
}

func TestDeadNodeSendsNothing(t *testing.T) {
	p := small(t, RoCE)
	n := p.jobs[0].nodes[0]
	w := struck(p, func(c *conditions, _ float64) { c.dead[n] = true })
	late := p.nanos(p.length/2 + 1)
	for _, s := range w.rec.samples {
		if s.Time > late && (s.Entity == p.site.gpuEntity(n*gpusPerNode) || s.Entity == p.entity(p.site.nics[n][0])) {
			t.Fatalf("%s of %s at %d, after its node died at %d", s.Metric, s.Entity, s.Time, late)
		}
	}
	if last := w.jobs[0].steps[len(w.jobs[0].steps)-1]; last.end > p.length/2+p.jobs[0].step*2 {
		t.Errorf("the job went on until %.0f s without its node", last.end)
	}
}

func TestTwoRingsOnOneUplinkShareIt(t *testing.T) {
	p := small(t, RoCE)
	p.site.adaptive = false
	c := &conditions{site: p.site}
	c.reset(1)
	f := newFabric(p.site, c)
	var crossing []*pattern
	s := p.site
	for r := range s.rails {
		for n := 1; n < len(s.nodes) && len(crossing) < 2; n++ {
			if s.leafOf[0][r] != s.leafOf[n][r] {
				q := &pattern{hops: []hop{{s.nics[0][r], s.nics[n][r], 0, 1}}}
				if r > 0 && s.leafOf[0][r] != s.leafOf[0][0] {
					q.hops[0].from = s.nics[1][0] // another host of the same leaf
				}
				crossing = append(crossing, f.register(q))
				break
			}
		}
	}
	for _, q := range crossing {
		f.start(&transfer{pattern: q, left: 1e9, done: func() {}})
	}
	f.solve()
	full := s.speed * wireShare
	for i, rate := range f.current.rates {
		if math.Abs(rate/(full/2)-1) > 1e-6 {
			t.Errorf("stream %d of 2 has %.3g bytes/s of an uplink of %.3g", i, rate, full)
		}
	}
	queues := 0
	for _, flow := range f.current.flows {
		if flow.queued {
			queues++
		}
	}
	if queues != 1 {
		t.Errorf("%d ports have a queue, want the shared uplink alone", queues)
	}
}

// TestAFaultCostsTheJobsThatAreJudged: a job that floods the links is slower itself;
// what it costs is what the job that shares them loses.
func TestAFaultCostsTheJobsThatAreJudged(t *testing.T) {
	seen := 0
	for _, seed := range []uint64{6009, 6011} {
		c, err := Generate(RoCE, seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Truth.Judged) == 0 {
			continue
		}
		seen++
		for _, f := range c.Truth.Faults {
			for _, j := range f.Jobs {
				if !slices.Contains(c.Truth.Judged, j) {
					t.Errorf("case %s: it costs %s, which is not judged", c.Name, j)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no case has judged jobs")
	}
}
