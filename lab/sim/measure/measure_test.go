package measure_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

const start = telemetry.Time(1_800_000_000e9)

// plainState is a site in which each link i carries (i+1)·1e6 bytes a second
// and everything else stands still.
func plainState(s *site.Site, jobs int) *state.State {
	st := &state.State{Links: make([]state.Link, s.Links()), NICs: make([]state.NIC, s.Nodes*s.GPUs), GPUs: make([]state.GPU, s.Nodes*s.GPUs),
		Nodes: make([]state.Node, s.Nodes), Switches: make([]state.Switch, s.Switches()), Racks: make([]state.Rack, s.Racks),
		Loops: make([]state.Loop, s.Racks), CDUs: make([]state.CDU, s.CDUs()), Rows: make([]state.Row, s.Rows()),
		PDUs: make([]state.Supply, 2*s.Rows()), UPSs: make([]state.Supply, 2*s.Halls()), Feeds: make([]state.Supply, 2), Jobs: make([]state.Job, jobs)}
	for i := range st.Links {
		st.Links[i].Up, st.Links[i].Speed = true, 400e9
	}
	for i := range st.Nodes {
		st.Nodes[i] = state.Node{Up: true, Watts: 6000, Inlet: 22, Fans: make([]float64, s.Fans)}
	}
	for i := range st.Switches {
		st.Switches[i] = state.Switch{Up: true, Inlet: 24}
	}
	for i := range st.GPUs {
		st.GPUs[i] = state.GPU{Engine: 1, SM: 0.85, Tensor: 0.6, Clock: 1755e6, Celsius: 61, MemoryCelsius: 70, Watts: 690, Limit: 700, NVLinksUp: 18}
	}
	for i := range st.Racks {
		for k := range st.Racks[i].Shelf {
			st.Racks[i].Shelf[k].PSUs = make([]bool, s.PSUs)
		}
	}
	for i := range st.Jobs {
		st.Jobs[i].Running = true
	}
	return st
}

// pass moves the state on by a second.
func pass(st *state.State) {
	st.Second++
	for i := range st.Links {
		l := &st.Links[i]
		by := float64(i+1) * 1e6
		l.SentTotal, l.TakenTotal = l.SentTotal+by, l.TakenTotal+by
	}
	for i := range st.NICs {
		st.NICs[i].CNPSentTotal += 4e8
	}
	for i := range st.GPUs {
		st.GPUs[i].EnergyTotal += 690
	}
}

// listener decodes the records that it is given.
type listener struct {
	t       *testing.T
	raw     bytes.Buffer
	records int
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	decoder telemetry.Decoder
	values  map[telemetry.Series][]sample
	heads   map[telemetry.Source][]telemetry.FrameHeader
	events  []telemetry.Event
	edges   []telemetry.Edge
	ending  telemetry.Time // of the second that is emitted
}

type sample struct {
	at, received telemetry.Time
	word         uint64
	value        float64
	gap          bool
}

func listen(t *testing.T) *listener {
	return &listener{t: t, schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, values: map[telemetry.Series][]sample{}, heads: map[telemetry.Source][]telemetry.FrameHeader{}}
}

func (l *listener) hear(r *telemetry.Record) error {
	l.records++
	switch r.Kind {
	case telemetry.SchemaRecord:
		l.schemas[r.Schema.Fingerprint()] = r.Schema
	case telemetry.EventRecord:
		l.events = append(l.events, *r.Event)
	case telemetry.EdgeRecord:
		l.edges = append(l.edges, *r.Edge)
	case telemetry.FrameRecord:
		l.raw.Write(r.Frame)
		l.frame(r.Frame)
	}
	return nil
}

func (l *listener) frame(b telemetry.EncodedFrame) {
	h, err := b.Header()
	if err != nil {
		l.t.Fatal(err)
	}
	sc := l.schemas[h.Fingerprint]
	if sc == nil {
		l.t.Fatal("a frame before its schema")
	}
	var f telemetry.Frame
	if err := l.decoder.Decode(b, sc, &f); err != nil {
		l.t.Fatal(err)
	}
	l.heads[sc.Source] = append(l.heads[sc.Source], h)
	if f.Instants[0].Received > l.ending {
		l.t.Fatalf("%s: received at %s, emitted in the second to %s", sc.Source, f.Instants[0].Received, l.ending)
	}
	for i := range sc.Len() {
		x := sample{at: f.Time(0), received: f.Instants[0].Received, word: f.Words[i], value: sc.Columns[i/len(sc.Entities)].Float(f.Words[i])}
		x.gap = f.States != nil && f.States[i] == telemetry.Gap
		l.values[sc.Series(i)] = append(l.values[sc.Series(i)], x)
	}
}

// play lets a site of so many GPUs be measured for a time.
func play(t *testing.T, gpus, seconds int, cfg measure.Config, each func(*state.State)) (*listener, *site.Site) {
	t.Helper()
	s, err := site.New(site.Sized(gpus))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Start = start
	jobs := []measure.Job{{Entity: job, Ranks: []measure.Rank{{Node: 0, GPU: 0, EP: -1}, {Node: 0, GPU: 1, DP: 1, EP: -1}}, Storage: "lustre0", RankTimes: true}}
	m, err := measure.New(s, jobs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	if err := m.Start(l.hear); err != nil {
		t.Fatal(err)
	}
	st := plainState(s, 1)
	for range seconds + 1 {
		if each != nil {
			each(st)
		}
		l.ending = start.Add(telemetry.Duration(st.Second) * 1e9)
		if err := m.Observe(st, l.hear); err != nil {
			t.Fatal(err)
		}
		st.Events, st.Jobs[0].Steps = nil, nil
		pass(st)
	}
	return l, s
}

var job = telemetry.Entity{Kind: telemetry.Job, Name: "train.1"}

func series(e telemetry.Entity, m telemetry.MetricName) telemetry.Series {
	return telemetry.Series{Entity: e, Metric: m}
}

// TestAPerfectInstrumentShowsTheTruth: every second, exactly, at both ends of a
// cable what its two links carry.
func TestAPerfectInstrumentShowsTheTruth(t *testing.T) {
	l, s := play(t, 16, 5, measure.Config{}, nil)
	for c := range s.Cables() {
		lower, upper := s.Cable(c)
		up, down := float64(2*c+1)*1e6, float64(2*c+2)*1e6
		for _, x := range []struct {
			e    telemetry.Entity
			m    telemetry.MetricName
			rate float64
		}{
			{lower, "port_tx_bytes_total", up}, {upper, "port_rx_bytes_total", up},
			{lower, "port_rx_bytes_total", down}, {upper, "port_tx_bytes_total", down},
		} {
			v := l.values[series(x.e, x.m)]
			if len(v) != 5 {
				t.Fatalf("%s %s: %d samples in 5 s", x.e, x.m, len(v))
			}
			for i := 1; i < len(v); i++ {
				if got := float64(v[i].word - v[i-1].word); got != x.rate || v[i].at.Sub(v[i-1].at) != 1e9 {
					t.Fatalf("%s %s: rose by %g in %v, want %g in 1 s", x.e, x.m, got, v[i].at.Sub(v[i-1].at), x.rate)
				}
			}
		}
	}
	if v := l.values[series(site.GPUName(1, 7), "gpu_temperature_celsius")]; v[0].value != 61 {
		t.Errorf("temperature %v, want 61", v[0].value)
	}
}

// TestWhoReceivesPause: the receiver of link 0 sent pause to its sender, the first
// NIC.
func TestWhoReceivesPause(t *testing.T) {
	l, s := play(t, 16, 3, measure.Config{}, func(st *state.State) { st.Links[0].StoppedTotal = 0.25 * float64(st.Second) })
	nic, port := s.Cable(0)
	for _, x := range []struct {
		e    telemetry.Entity
		m    telemetry.MetricName
		want float64
	}{
		{nic, "port_pfc_rx_pause_seconds_total", 0.25}, {nic, "port_pfc_tx_pause_seconds_total", 0},
		{port, "port_pfc_tx_pause_seconds_total", 0.25}, {port, "port_pfc_rx_pause_seconds_total", 0},
	} {
		v := l.values[series(x.e, x.m)]
		if got := float64(v[2].word-v[1].word) / 1e6; got != x.want {
			t.Errorf("%s %s: %v s a second, want %v", x.e, x.m, got, x.want)
		}
	}
	if v := l.values[series(port, "port_headroom_max_bytes")]; v[1].value != 110e3 {
		t.Errorf("headroom %v behind a stop", v[1].value)
	}
}

func TestASeedGivesTheSameBytes(t *testing.T) {
	cfg := measure.Config{Seed: 7, Imperfect: true}
	a, _ := play(t, 64, 120, cfg, nil)
	b, _ := play(t, 64, 120, cfg, nil)
	if !bytes.Equal(a.raw.Bytes(), b.raw.Bytes()) {
		t.Error("two runs of one seed differ")
	}
	cfg.Seed = 8
	c, _ := play(t, 64, 120, cfg, nil)
	if bytes.Equal(a.raw.Bytes(), c.raw.Bytes()) {
		t.Error("two seeds do not differ")
	}
}

// TestImperfectionHasItsMeasure holds how much is lost, late, off and noisy on
// a site of 256 GPUs in ten minutes.
func TestImperfectionHasItsMeasure(t *testing.T) {
	const seconds = 600
	l, _ := play(t, 64, seconds, measure.Config{Seed: 3, Imperfect: true}, nil)
	var frames, want, late, beyond, gaps, values int
	for src, hs := range l.heads {
		if src.Part != "gpus" && src.Part != "nics" && src.Part != "ports" {
			continue
		}
		want += seconds
		frames += len(hs)
		for i := 1; i < len(hs); i++ {
			if hs[i].Incarnation == hs[i-1].Incarnation && hs[i].Sequence != hs[i-1].Sequence+1 {
				t.Fatalf("%s: frame %d follows %d", src, hs[i].Sequence, hs[i-1].Sequence)
			}
		}
	}
	offset := map[int64]bool{}
	for s, v := range l.values {
		if s.Metric != "gpu_power_watts" && s.Metric != "port_up" {
			continue
		}
		for _, x := range v {
			values++
			switch d := x.received.Sub(x.at).Seconds(); {
			case d > 2:
				beyond++
			case d > 0.5:
				late++
			}
			if x.gap {
				gaps++
			}
			offset[int64(x.received.Sub(x.at))] = true
		}
	}
	share := func(n, of int) float64 { return float64(n) / float64(of) }
	if x := 1 - share(frames, want); x < 0.0002 || x > 0.01 {
		t.Errorf("%.4f of the frames are missing", x)
	}
	if x := share(late, values); x < 0.00005 || x > 0.05 {
		t.Errorf("%.5f of the samples are late", x)
	}
	if x := share(beyond, values); x == 0 || x > 0.01 {
		t.Errorf("%.5f of the samples are too late", x)
	}
	if gaps == 0 || share(gaps, values) > 0.001 {
		t.Errorf("%d gaps of %d values", gaps, values)
	}
	if len(offset) < 1000 {
		t.Errorf("%d delays, all alike", len(offset))
	}
}

func TestNoiseIsThatOfTheInstrument(t *testing.T) {
	l, _ := play(t, 64, 200, measure.Config{Seed: 1, Imperfect: true}, nil)
	var sum, squares, n float64
	for s, v := range l.values {
		switch s.Metric {
		case "gpu_tensor_active_ratio":
			for _, x := range v {
				if !x.gap {
					d := x.value/0.6 - 1
					sum, squares, n = sum+d, squares+d*d, n+1
				}
			}
		case "gpu_temperature_celsius":
			for _, x := range v {
				if !x.gap && (x.value != math.Trunc(x.value) || math.Abs(x.value-61) > 1.5) {
					t.Fatalf("temperature %v, true 61", x.value)
				}
			}
		case "gpu_power_watts":
			for _, x := range v {
				if !x.gap && math.Abs(x.value/690-1) > 0.035 {
					t.Fatalf("power %v, true 690", x.value)
				}
			}
		}
	}
	if mean, dev := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.001 || dev < 0.008 || dev > 0.012 {
		t.Errorf("activity is off by %.4f, spread %.4f; want 0 and 0.01", mean, dev)
	}
}

// TestANarrowCounterWraps: 4e8 a second wrap 32 bits every eleven seconds, and
// the differences modulo 2^32 stay true.
func TestANarrowCounterWraps(t *testing.T) {
	l, _ := play(t, 16, 30, measure.Config{}, nil)
	v := l.values[series(site.NICName(0, 0), "roce_cnp_sent_total")]
	wraps := 0
	for i := 1; i < len(v); i++ {
		if v[i].word < v[i-1].word {
			wraps++
		}
		if d := uint32(v[i].word) - uint32(v[i-1].word); d != 4e8 || v[i].word > math.MaxUint32 {
			t.Fatalf("rose by %d to %d", d, v[i].word)
		}
	}
	if wraps < 2 {
		t.Errorf("%d wraps", wraps)
	}
}

// TestADeadNodeIsSilent but for its board, and comes back with new counters.
func TestADeadNodeIsSilent(t *testing.T) {
	l, s := play(t, 16, 60, measure.Config{}, func(st *state.State) { st.Nodes[1].Up = st.Second < 20 || st.Second >= 40 })
	for src, hs := range l.heads {
		quiet := false
		for i := 1; i < len(hs); i++ {
			quiet = quiet || hs[i].First.Sub(hs[i-1].First) > 15e9
		}
		dies := src.Target == "n0001" && (src.Part == "gpus" || src.Part == "nics" || src.Part == "nvlinks")
		if quiet != dies && src.Part != "chassis" && src.Collector != "redfish" {
			t.Errorf("%s: silent %v", src, quiet)
		}
		if dies && hs[len(hs)-1].Incarnation != 2 {
			t.Errorf("%s: incarnation %d after a return", src, hs[len(hs)-1].Incarnation)
		}
	}
	nic, _ := s.Cable(s.GPUs)
	v := l.values[series(nic, "port_tx_bytes_total")]
	if last := v[len(v)-1].word; last > 60*17e6 {
		t.Errorf("counter at %d long after a reset", last)
	}
	if n := len(l.values[series(site.NodeName(1), "node_power_watts")]); n < 5 {
		t.Errorf("%d words of the board", n)
	}
}

// TestAReadingClearsAWatermark: each is the maximum since the one before.
func TestAReadingClearsAWatermark(t *testing.T) {
	l, s := play(t, 16, 20, measure.Config{Switches: 5e9}, func(st *state.State) {
		st.Links[1].QueueMost = 0
		if st.Second == 7 {
			st.Links[1].QueueMost = 5000
		}
	})
	_, port := s.Cable(0)
	var got []float64
	for _, x := range l.values[series(port, "port_queue_max_bytes")] {
		got = append(got, x.value)
	}
	if len(got) != 4 || got[0] != 0 || got[1] != 5000 || got[2] != 0 {
		t.Errorf("watermarks %v, want the peak of second 7 in the second reading alone", got)
	}
}

// TestStepsAreReportedAtTheirEnds, to the nanosecond, and evaluations not.
func TestStepsAreReportedAtTheirEnds(t *testing.T) {
	l, _ := play(t, 16, 4, measure.Config{}, func(st *state.State) {
		if st.Second == 2 {
			st.Jobs[0].Steps = []state.Step{
				{Number: 5, End: 1.25, Seconds: 0.75, Tokens: 3000, MFU: 0.41, Compute: []float32{0.5, 0.625}, Wait: []float32{0.125, 0}, Transfer: []float32{0.0625, 0.0625}},
				{Number: 6, End: 1.5, Seconds: 0.25, Evaluates: true},
			}
		}
	})
	v := l.values[series(job, "job_step_seconds")]
	if len(v) != 1 || v[0].at != start.Add(1_250_000_000) || v[0].value != 0.75 {
		t.Errorf("steps told: %+v", v)
	}
	if r := l.values[series(measure.RankName(job, 1), "rank_compute_seconds")]; len(r) != 1 || r[0].value != 0.625 {
		t.Errorf("rank 1 computed %+v", r)
	}
	if x := l.values[series(job, "job_tokens_per_second")]; x[0].value != 4000 {
		t.Errorf("tokens a second %v, want 4000", x[0].value)
	}
}

func TestALostGPUAnswersNoMore(t *testing.T) {
	gpu := site.GPUName(0, 3)
	l, _ := play(t, 16, 12, measure.Config{}, func(st *state.State) {
		if st.Second >= 5 {
			st.GPUs[3].Engine = 0
		}
		if st.Second == 5 {
			st.Events = []state.Event{{At: 4.5, Entity: gpu, Name: "xid", Text: "79, GPU has fallen off the bus"}}
		}
	})
	v := l.values[series(gpu, "gpu_power_watts")]
	if v[2].gap || !v[len(v)-1].gap {
		t.Errorf("gaps: %+v", v)
	}
	if o := l.values[series(site.GPUName(0, 2), "gpu_power_watts")]; o[len(o)-1].gap {
		t.Error("its neighbour is lost, too")
	}
	if len(l.events) != 1 || l.events[0].At != start.Add(4_500_000_000) || l.events[0].Source.Collector != "logs" {
		t.Errorf("events %+v", l.events)
	}
}

// TestPlacementIsStated with rank and coordinates, and the storage it uses.
func TestPlacementIsStated(t *testing.T) {
	l, _ := play(t, 16, 1, measure.Config{}, nil)
	var runs, uses int
	for i := range l.edges {
		e := &l.edges[i]
		switch {
		case e.Relation == telemetry.Runs:
			runs++
			if e.To == site.GPUName(0, 1) && (e.Attr("rank") != "1" || e.Attr("dp") != "1" || e.Attr("ep") != "") {
				t.Errorf("rank 1 placed as %v", e.Attrs)
			}
		case e.Relation == telemetry.Uses:
			uses++
		}
	}
	if runs != 2 || uses != 1 {
		t.Errorf("%d placements, %d uses", runs, uses)
	}
}

// TestTheLeanSet holds how many series the lean set has per device.
func TestTheLeanSet(t *testing.T) {
	s, err := site.New(site.Sized(64))
	if err != nil {
		t.Fatal(err)
	}
	for _, ib := range []bool{false, true} {
		m, err := measure.New(s, nil, measure.Config{Set: measure.Lean, InfiniBand: ib})
		if err != nil {
			t.Fatal(err)
		}
		for _, sc := range m.Schemas() {
			want := map[string]int{"gpus": 40, "nics": 60, "ports": 25}[sc.Source.Part]
			if want != 0 && len(sc.Columns) != want {
				t.Errorf("%s: %d series each, want %d", sc.Source, len(sc.Columns), want)
			}
		}
	}
}
