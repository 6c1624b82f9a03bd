package symptom_test

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/symptom"
	"github.com/quintet-dc/quintet/telemetry"
)

func reading(metric string, of explain.Scope, kind telemetry.Kind, take explain.Take) *explain.Reading {
	r := &explain.Reading{Metric: telemetry.MetricName(metric), Of: of, Kind: kind, Take: take}
	if of.Many() {
		r.Among = explain.AmongSum
	}
	return r
}

// TestScopesReachWhoTheyName: every entity of a kind has its own power of two as
// its value, so that a sum shows which were read.
func TestScopesReachWhoTheyName(t *testing.T) {
	for _, c := range []struct {
		root  string
		of    explain.Scope
		kind  telemetry.Kind
		read  string // metric
		names []string
	}{
		{"gpu:n1/0", explain.OfRoot, "", "gpu_temperature_celsius", []string{"gpu:n1/0"}},
		{"gpu:n1/0", explain.OfNode, "", "inlet_celsius", []string{"node:n1"}},
		{"loop:l1", explain.OfUnder, telemetry.GPU, "gpu_temperature_celsius", []string{"gpu:n2/0", "gpu:n2/1", "gpu:n3/0", "gpu:n3/1"}},
		{"cdu:c1", explain.OfUnder, telemetry.GPU, "gpu_temperature_celsius", []string{"gpu:n4/0", "gpu:n4/1", "gpu:n5/0", "gpu:n5/1"}}, // not l3's: the job is not there
		{"pump:c0/1", explain.OfUnder, telemetry.Loop, "coolant_flow_liters_per_minute", []string{"loop:l0", "loop:l1"}},
		{"fan:n3/f", explain.OfUnder, telemetry.GPU, "gpu_temperature_celsius", []string{"gpu:n3/0", "gpu:n3/1"}},
		{"feed:a", explain.OfUnder, telemetry.PDU, "rack_power_watts", []string{"pdu:p0", "pdu:p1"}},
		{"gpu:n5/1", explain.OfOver, telemetry.Loop, "coolant_flow_liters_per_minute", []string{"loop:l2"}},
		{"gpu:n5/1", explain.OfOver, telemetry.PDU, "rack_power_watts", []string{"pdu:p1"}},
		{"loop:l0", explain.OfBeside, telemetry.Node, "inlet_celsius", []string{"node:n2", "node:n3", "node:n4", "node:n5"}},
		{"nic:n2/k", explain.OfFacing, "", "port_up", []string{"port:leaf/2"}},
		{"port:leaf/2", explain.OfFacing, "", "port_up", []string{"nic:n2/k"}},
		{"loop:l2", explain.OfJob, "", "job_data_wait_seconds", []string{"job:train"}},
	} {
		s := newHall(t)
		r := reading(c.read, c.of, c.kind, explain.TakeNow)
		s.asks(string(entity(c.root).Kind), r)
		kind := entity(c.names[0]).Kind
		bit, want := 1.0, 0.0
		for _, e := range everything() {
			if entity(e).Kind != kind {
				continue
			}
			if c.of == explain.OfJob {
				s.steps.Observe(telemetry.Series{Entity: entity(e), Metric: r.Metric}, second(degradedAt+5), bit)
			}
			s.reports(e, c.read, 0, bit)
			if slices.Contains(c.names, e) {
				want += bit
			}
			bit *= 2
		}
		if got, ok := s.contrast().Read(entity(c.root), r); !ok || !near(got, want) {
			t.Errorf("%s of %s %s: %v, %v, want %v of %v", c.read, c.of, c.root, got, ok, want, c.names)
		}
	}
}

// everything lists what the scopes could reach.
func everything() []string {
	out := []string{"job:train", "cdu:c0", "cdu:c1", "pdu:p0", "pdu:p1", "loop:l0", "loop:l1", "loop:l2", "loop:l3"}
	for _, n := range []string{"0", "1", "2", "3", "4", "5", "6", "7"} {
		out = append(out, "node:n"+n, "gpu:n"+n+"/0", "gpu:n"+n+"/1", "nic:n"+n+"/k", "port:leaf/"+n)
	}
	return out
}

// Five loops' worth of one metric, and what each take makes of it.
func TestTakesAreWhatTheySay(t *testing.T) {
	for take, want := range map[explain.Take]float64{
		explain.TakeNow:        30,
		explain.TakeBefore:     40,
		explain.TakeShift:      -10,
		explain.TakeRatio:      0.75,
		explain.TakePeers:      -8,                // the median changed by −2
		explain.TakePeersRatio: 0.75 / (38. / 40), // and to 38/40
		explain.TakeBelowPeers: 30. / 38,
		explain.TakeMost:       30,
		explain.TakeLeast:      30,
		explain.TakeNoData:     0,
	} {
		s := newHall(t)
		r := reading("coolant_flow_liters_per_minute", explain.OfRoot, "", take)
		s.asks("loop", r)
		s.reports("loop:l0", "coolant_flow_liters_per_minute", 40, 30)
		s.reports("loop:l1 loop:l2 loop:l3", "coolant_flow_liters_per_minute", 40, 38)
		if got, ok := s.contrast().Read(entity("loop:l0"), r); !ok || !near(got, want) {
			t.Errorf("%s: %v, %v, want %v", take, got, ok, want)
		}
	}
}

func TestAmongManyOneNumber(t *testing.T) {
	half := 60.0
	for among, want := range map[explain.Among]float64{
		explain.AmongMedian: (50. + 70) / 2, explain.AmongMost: 90, explain.AmongLeast: 40, explain.AmongSum: 250, explain.AmongShare: 0.5,
	} {
		s := newHall(t)
		r := reading("gpu_temperature_celsius", explain.OfUnder, telemetry.GPU, explain.TakeNow)
		r.Among = among
		if among == explain.AmongShare {
			r.Above = &half
		}
		s.asks("loop", r)
		for k, g := range s.gpus()[:4] {
			s.reports(g, "gpu_temperature_celsius", 40, []float64{40, 50, 70, 90}[k])
		}
		if got, ok := s.contrast().Read(entity("loop:l0"), r); !ok || !near(got, want) {
			t.Errorf("%s: %v, %v, want %v", among, got, ok, want)
		}
	}
}

// TestAStorageIsSlowerThanBeforeItsTrouble: a storage whose latency rose a minute
// before the job's next checkpoint was affected is compared with its latency before
// that.
func TestAStorageIsSlowerThanBeforeItsTrouble(t *testing.T) {
	s := newHall(t)
	r := reading("storage_write_latency_seconds", explain.OfRoot, "", explain.TakeRatio)
	s.asks("storage", r)
	s.reportsLike("storage:s0", "storage_write_latency_seconds", func(sec int) (float64, bool) {
		if sec > degradedAt-60 {
			return 3e-3, true
		}
		return 2e-3, true
	})
	if v, ok := s.contrast().Read(entity("storage:s0"), r); !ok || !near(v, 1.5) {
		t.Errorf("writes take %g times as long (seen: %v), want 1.5", v, ok)
	}
}

// TestBitsAreSharesOfTime: half of the degradation with 0x40 set, a tenth before.
func TestBitsAreSharesOfTime(t *testing.T) {
	s := newHall(t)
	r := reading("gpu_clock_event_reasons", explain.OfRoot, "", explain.TakeBits)
	r.Bits = 0x60
	s.asks("gpu", r)
	s.reportsLike("gpu:n0/0", "gpu_clock_event_reasons", func(sec int) (float64, bool) {
		switch {
		case sec > degradedAt && sec%2 == 0:
			return 0x44, true
		case sec <= degradedAt && sec > degradedAt-24 && sec%2 == 0:
			return 0x20, true // 12 of the 96 grids before
		}
		return 4, true
	})
	if got, ok := s.contrast().Read(entity("gpu:n0/0"), r); !ok || !near(got, 0.5-12./96) {
		t.Errorf("%v, %v", got, ok)
	}
}

func TestEventsAreCountedByNameAndText(t *testing.T) {
	s := newHall(t)
	all := &explain.Reading{Event: "xid", Of: explain.OfUnder, Kind: telemetry.GPU, Take: explain.TakeNow, Among: explain.AmongSum}
	bus := &explain.Reading{Event: "xid", Text: "79", Of: explain.OfRoot, Take: explain.TakeNow}
	s.asks("loop gpu", all, bus)
	for k, text := range []string{"79, GPU has fallen off the bus", "63, row remapped"} {
		s.events = append(s.events, telemetry.Event{Entity: entity("gpu:n0/1"), At: second(degradedAt + k), Name: "xid", Text: text})
	}
	c := s.contrast()
	for _, x := range []struct {
		root string
		r    *explain.Reading
		want float64
	}{{"loop:l0", all, 2}, {"gpu:n0/1", bus, 1}, {"gpu:n0/0", bus, 0}, {"loop:l1", all, 0}} {
		if got, ok := c.Read(entity(x.root), x.r); !ok || got != x.want {
			t.Errorf("%s: %v, %v, want %v", x.root, got, ok, x.want)
		}
	}
}

// TestACauseComesFirst: a configuration that is changed while a job is slow already did
// not make it slow; one that is changed within the error of a clock may have.
func TestACauseComesFirst(t *testing.T) {
	s := newHall(t)
	changed := &explain.Reading{Event: "config_changed", Of: explain.OfRoot, Take: explain.TakeBefore}
	s.asks("loop gpu", changed)
	s.degradation.Onset = second(degradedAt)
	for at, want := range map[int]float64{degradedAt - 20: 1, degradedAt + 1: 1, degradedAt + 3: 0} { // order-independent: each is a case
		s.events = []telemetry.Event{{Entity: entity("gpu:n0/1"), At: second(at), Name: "config_changed"}}
		if got, _ := s.contrast().Read(entity("gpu:n0/1"), changed); got != want {
			t.Errorf("%d s after the onset: %v, want %v", at-degradedAt, got, want)
		}
	}
}

// TestAnEventOfTwoSourcesHappenedOnce: what a switch reports over gNMI and writes into
// its log is one event; what one of them reports twice is two.
func TestAnEventOfTwoSourcesHappenedOnce(t *testing.T) {
	s := newHall(t)
	down := &explain.Reading{Event: "xid", Of: explain.OfRoot, Take: explain.TakeNow}
	s.asks("loop gpu", down)
	for k, from := range []string{"gnmi", "logs", "logs"} {
		s.events = append(s.events, telemetry.Event{Entity: entity("gpu:n0/1"), At: second(degradedAt + k), Name: "xid", Text: "79", Source: telemetry.Source{Collector: from, Target: "n0"}})
	}
	for n, want := range []float64{0, 1, 1, 2} {
		all := s.events
		s.events = all[:n]
		if got, _ := s.contrast().Read(entity("gpu:n0/1"), down); got != want {
			t.Errorf("of %d reports: %v, want %v", n, got, want)
		}
		s.events = all
	}
}

// TestWhatIsNotReportedYetIsNotStale: a source of the slow class that has not closed
// the grids of the degradation is neither stale nor receiving; one that stopped
// before the degradation is stale.
func TestWhatIsNotReportedYetIsNotStale(t *testing.T) {
	s := newHall(t)
	noData := reading("fan_speed_ratio", explain.OfRoot, "", explain.TakeNoData)
	now := reading("fan_speed_ratio", explain.OfRoot, "", explain.TakeNow)
	s.asks("fan", noData, now)
	s.reportsLike("fan:n0/f", "fan_speed_ratio", func(sec int) (float64, bool) { return 0.5, sec <= 104 }) // closed up to 105
	s.reportsLike("fan:n1/f", "fan_speed_ratio", func(sec int) (float64, bool) { return 0.5, sec <= 90 })
	s.class[0], s.class[1] = telemetry.Slow, telemetry.Slow
	c := s.contrast()
	for name, want := range map[string]float64{"fan:n0/f": 0, "fan:n1/f": 1} {
		if got, ok := c.Read(entity(name), noData); !ok || got != want {
			t.Errorf("%s: silent %v, %v, want %v", name, got, ok, want)
		}
	}
	if v, ok := c.Read(entity("fan:n1/f"), now); ok {
		t.Errorf("a fan that stopped telling before the degradation is read as %v in it", v)
	}
	if _, ok := c.Read(entity("fan:n2/f"), noData); ok {
		t.Error("a fan that was never heard is read")
	}
}

// TestABaselineSurvivesASnapshot: a baseline keeps what was before, whatever
// becomes of the survey and of the process.
func TestABaselineSurvivesASnapshot(t *testing.T) {
	s := newHall(t)
	r := reading("coolant_flow_liters_per_minute", explain.OfRoot, "", explain.TakeRatio)
	s.asks("loop", r)
	s.reports("loop:l0", "coolant_flow_liters_per_minute", 40.1, 30.3)
	s.clocks(0.7, "gpu:n0/0")
	want, _ := s.contrast().Read(entity("loop:l0"), r)
	c := s.against(func(b *symptom.Baseline) *symptom.Baseline {
		w := snapshot.NewWriter()
		b.Snapshot(w)
		var back symptom.Baseline
		rd := snapshot.NewReader(w.Data())
		back.Snapshot(rd)
		if rd.Err() != nil || rd.Remaining() != 0 {
			t.Fatalf("%v, %d bytes left", rd.Err(), rd.Remaining())
		}
		return &back
	})
	if got, ok := c.Read(entity("loop:l0"), r); !ok || got != want {
		t.Errorf("%v after a snapshot, %v before", got, want)
	}
}

func FuzzBaseline(f *testing.F) {
	s := newHall(&testing.T{})
	s.clocks(0.7, "gpu:n0/0")
	w := snapshot.NewWriter()
	p := s.plan()
	symptom.Keep(p.Read(s.draw(), s.source(), symptom.Span{From: second(4), To: second(degradedAt)}, false)).Snapshot(w)
	f.Add(w.Data())
	survey := s.draw()
	f.Fuzz(func(t *testing.T, b []byte) {
		var back symptom.Baseline
		r := snapshot.NewReader(b)
		back.Snapshot(r)
		if r.Err() == nil {
			back.On(p, survey) // whatever it holds, it is laid without a panic
		}
	})
}

// TestWhatAMachineDoesNotReportAnyMore: series of a machine, or of what it contains,
// that stopped are listed; series that never had data, and those of other machines,
// are not.
func TestWhatAMachineDoesNotReportAnyMore(t *testing.T) {
	s := newHall(t)
	s.asks("fan", reading("fan_speed_ratio", explain.OfRoot, "", explain.TakeNow))
	s.reportsLike("fan:n0/f", "fan_speed_ratio", func(int) (float64, bool) { return 0.5, true })
	s.reportsLike("fan:n1/f", "fan_speed_ratio", func(sec int) (float64, bool) { return 0.5, sec <= 90 })
	c := s.contrast()
	want := []telemetry.Series{{Entity: entity("fan:n1/f"), Metric: "fan_speed_ratio"}}
	for _, root := range []string{"node:n1", "fan:n1/f", "gpu:n1/0"} {
		if got := c.StaleOfMachine(entity(root)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", root, got, want)
		}
	}
	if got := c.StaleOfMachine(entity("node:n0")); len(got) > 0 {
		t.Errorf("node:n0: %v, and all of it is heard", got)
	}
	if got := c.StaleOfMachine(entity("node:n99")); len(got) > 0 {
		t.Errorf("a machine that nobody knows: %v", got)
	}
}

// TestAQuantityIsReadFromWhatShowsIt: of the instruments, the first that has data
// before the degradation and during it.
func TestAQuantityIsReadFromWhatShowsIt(t *testing.T) {
	for name, c := range map[string]struct {
		heard []string
		from  telemetry.MetricName
	}{
		"all":            {[]string{"gpu_tensor_active_ratio", "gpu_sm_active_ratio", "gpu_power_watts"}, "gpu_tensor_active_ratio"},
		"no tensor":      {[]string{"gpu_sm_active_ratio", "gpu_power_watts"}, "gpu_sm_active_ratio"},
		"only the power": {[]string{"gpu_power_watts"}, "gpu_power_watts"},
	} {
		s := newHall(t)
		r := reading("gpu_activity_ratio", explain.OfUnder, telemetry.GPU, explain.TakePeersRatio)
		r.Among = explain.AmongMost
		s.asks("node", r)
		for k, m := range c.heard {
			for _, g := range s.gpus() {
				s.reports(g, m, 100, 80)
			}
			s.reports("gpu:n2/0", m, 100, 100-float64(k))
		}
		f := s.contrast()
		if got, ok := f.Read(entity("node:n2"), r); !ok || !near(got, 1.25) {
			t.Errorf("%s: %v, %v, want 1.25", name, got, ok)
		}
		if o, ok := f.StrongestReading(entity("node:n2"), &explain.Feature{Full: 1, Reading: r}); !ok || o.Metric != c.from {
			t.Errorf("%s: told by %s, want %s", name, o.Metric, c.from)
		}
	}
}

// TestPendingIsWhatWasReportedAndWillBe: series that had data before the degradation
// and not since; not those that never had data, nor those that are stale.
func TestPendingIsWhatWasReportedAndWillBe(t *testing.T) {
	for name, c := range map[string]struct {
		every, until int // seconds; until 0: never
		want         bool
	}{"heard since": {1, degradedAt + 10, false}, "not yet": {40, degradedAt + 10, true}, "long silent": {1, 20, false}, "never": {1, 0, false}} {
		s := newHall(t)
		r := reading("fan_speed_ratio", explain.OfRoot, "", explain.TakeNow)
		s.asks("fan", r)
		s.reportsLike("fan:n1/f", "fan_speed_ratio", func(sec int) (float64, bool) {
			return 0.5, sec <= c.until && c.until > 0 && (degradedAt-2-sec)%c.every == 0
		})
		s.cadence = telemetry.Duration(c.every) * 1e9
		sig := &explain.Signature{Expect: explain.ExpectBenign, Features: []explain.Feature{{Full: 1, Reading: r}}}
		if got := s.contrast().Pending(entity("fan:n1/f"), sig); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestAnEntityIsSilentWhateverItReported: a site reports of its GPUs what it likes, and all
// of it ends with the GPU. Where something is still reported a collector has stopped, or
// the host has, and its management controller reports: that is not known. What was silent
// before the degradation is no sign of it.
func TestAnEntityIsSilentWhateverItReported(t *testing.T) {
	until := func(last int) func(int) (float64, bool) {
		return func(sec int) (float64, bool) { return 500, sec <= last }
	}
	const always = 1 << 20
	for name, c := range map[string]struct {
		power, heat int // until which second
		want        float64
		ok          bool
	}{
		"all of it ends":         {101, 101, 1, true},
		"one collector stops":    {101, always, 0, false},
		"it goes on":             {always, always, 0, true},
		"it was silent for long": {20, 20, 0, false},
	} {
		s := newHall(t)
		noData := reading("gpu_engine_active_ratio", explain.OfRoot, "", explain.TakeNoData)
		s.asks("gpu", noData, reading("gpu_power_watts", explain.OfRoot, "", explain.TakeNow), reading("gpu_temperature_celsius", explain.OfRoot, "", explain.TakeNow))
		s.reportsLike("gpu:n0/0", "gpu_power_watts", until(c.power))
		s.reportsLike("gpu:n0/0", "gpu_temperature_celsius", until(c.heat))
		if got, ok := s.contrast().Read(entity("gpu:n0/0"), noData); ok != c.ok || got != c.want {
			t.Errorf("%s: silent %v, %v, want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
}

// TestHalfOfAClassIsComparedWithTheOther: what is under a root has no part in the median
// that it is compared with, where it is much of its class.
func TestHalfOfAClassIsComparedWithTheOther(t *testing.T) {
	s := newHall(t)
	r := reading("gpu_power_watts", explain.OfUnder, telemetry.GPU, explain.TakePeersRatio)
	r.Among = explain.AmongMost
	s.asks("pdu", r)
	for _, g := range s.gpus() {
		now := 500.0
		if g >= "gpu:n4" {
			now = 250
		}
		s.reports(g, "gpu_power_watts", 500, now)
	}
	if got, ok := s.contrast().Read(entity("pdu:p0"), r); !ok || !near(got, 2) {
		t.Errorf("%v, %v, want 2", got, ok)
	}
}
