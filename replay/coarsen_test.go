package replay

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

const every = telemetry.Duration(1e9)

// host is a source with a cadence, steps one that reports a job's steps.
func host() *telemetry.Schema {
	return &telemetry.Schema{Source: telemetry.Source{Collector: "sysfs", Target: "h0", Part: "nic"}, Cadence: every,
		Entities: []telemetry.Entity{{Kind: telemetry.NIC, Name: "h0/nic0"}, {Kind: telemetry.NIC, Name: "h0/nic1"}},
		Columns:  []telemetry.Column{{Metric: "rx_bytes_total", Type: telemetry.Uint}}}
}

func steps() *telemetry.Schema {
	return &telemetry.Schema{Source: telemetry.Source{Collector: "receive", Target: "train", Part: "job"},
		Entities: []telemetry.Entity{{Kind: telemetry.Job, Name: "train"}}, Columns: []telemetry.Column{{Metric: stepSeconds, Type: telemetry.Uint}}}
}

// coarsened sends frames with the given numbers of instants through a coarsener
// and returns the times and the sequence numbers that are left.
func coarsened(t *testing.T, s *telemetry.Schema, k int, frames []uint64, instants int) (times []telemetry.Time, sequences []uint64) {
	t.Helper()
	c := newCoarsener(k, nil, nil)
	r, err := c.record(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	is := r.Schema
	var enc telemetry.Encoder
	var dec telemetry.Decoder
	for _, n := range frames {
		f := telemetry.Frame{Incarnation: 1, Sequence: n}
		for i := range instants {
			at := telemetry.Time(int(n)*instants+i) * telemetry.Time(every)
			f.Instants = append(f.Instants, telemetry.Instant{Source: at})
			for range s.Len() {
				f.Words = append(f.Words, uint64(at))
			}
		}
		b, err := enc.AppendFrame(nil, s, &f)
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.record(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
		if err != nil {
			t.Fatal(err)
		}
		if out == nil {
			continue
		}
		var got telemetry.Frame
		if err := dec.Decode(out.Frame, is, &got); err != nil {
			t.Fatal(err)
		}
		for i, x := range got.Instants {
			times = append(times, x.Source/telemetry.Time(every))
			if got.Words[i*s.Len()] != uint64(x.Source) {
				t.Errorf("instant %v carries the words of %d", x.Source, got.Words[i*s.Len()])
			}
		}
		sequences = append(sequences, got.Sequence)
	}
	return times, sequences
}

func TestCoarsenerKeepsEveryKthInstant(t *testing.T) {
	tests := []struct {
		name      string
		frames    []uint64
		instants  int
		times     []telemetry.Time
		sequences []uint64
	}{
		{"one instant a frame", []uint64{1, 2, 3, 4, 5, 6, 7}, 1, []telemetry.Time{3, 6}, []uint64{1, 2}},
		{"a lost frame stays lost", []uint64{1, 2, 4, 5, 6}, 1, []telemetry.Time{6}, []uint64{2}},
		{"several instants, fewer than K", []uint64{1, 2, 3, 4}, 2, []telemetry.Time{3, 6, 9}, []uint64{1, 2, 3}},
		{"several instants, more than K", []uint64{1, 2}, 4, []telemetry.Time{6, 9}, []uint64{1, 2}},
	}
	for _, tc := range tests {
		times, sequences := coarsened(t, host(), 3, tc.frames, tc.instants)
		if !slices.Equal(times, tc.times) || !slices.Equal(sequences, tc.sequences) {
			t.Errorf("%s: times %v, sequences %v, want %v, %v", tc.name, times, sequences, tc.times, tc.sequences)
		}
	}
}

func TestCoarsenerKeepsSteps(t *testing.T) {
	if times, _ := coarsened(t, steps(), 10, []uint64{1, 2, 3}, 1); len(times) != 3 {
		t.Errorf("%d steps are left of 3", len(times))
	}
}

func TestCoarsenerStatesTheLongerCadence(t *testing.T) {
	r, err := newCoarsener(10, nil, nil).record(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: host()})
	if err != nil || r.Schema.Cadence != 10*every {
		t.Errorf("cadence %v, %v, want 10 s", r.Schema.Cadence, err)
	}
}

// TestASiteLacksMetrics: of two columns one is not measured; the words of the other stay its own,
// at all instants.
func TestASiteLacksMetrics(t *testing.T) {
	s := host()
	s.Columns = append(s.Columns, telemetry.Column{Metric: "tx_bytes_total", Type: telemetry.Uint})
	for _, gone := range []telemetry.MetricName{"rx_bytes_total", "tx_bytes_total"} {
		c := newCoarsener(1, func(m telemetry.MetricName) bool { return m == gone }, nil)
		r, err := c.record(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
		if err != nil || len(r.Schema.Columns) != 1 || r.Schema.Columns[0].Metric == gone || r.Schema.Cadence != s.Cadence {
			t.Fatalf("without %s: %+v, %v", gone, r, err)
		}
		is := r.Schema
		f := telemetry.Frame{Incarnation: 1, Sequence: 4, Instants: []telemetry.Instant{{Source: 1}, {Source: 2}}, Words: []uint64{10, 11, 20, 21, 12, 13, 22, 23}}
		var enc telemetry.Encoder
		b, err := enc.AppendFrame(nil, s, &f)
		if err != nil {
			t.Fatal(err)
		}
		if r, err = c.record(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}); err != nil {
			t.Fatal(err)
		}
		var got telemetry.Frame
		var dec telemetry.Decoder
		if err := dec.Decode(r.Frame, is, &got); err != nil {
			t.Fatal(err)
		}
		want := []uint64{20, 21, 22, 23}
		if gone == "tx_bytes_total" {
			want = []uint64{10, 11, 12, 13}
		}
		if !slices.Equal(got.Words, want) || len(got.Instants) != 2 {
			t.Errorf("without %s: words %v at %d instants, want %v", gone, got.Words, len(got.Instants), want)
		}
	}
}

// TestWhatALackingSiteLacks: about three tenths of the metrics, the same ones each time, others in
// another draw or recording, and never the steps.
func TestWhatALackingSiteLacks(t *testing.T) {
	all := telemetry.DefaultCatalogue().Metrics()
	count := func(path string, draw int) (n int) {
		lacks := missing(path, draw)
		for _, m := range all {
			if lacks(m.Name) != missing(path, draw)(m.Name) {
				t.Fatalf("%s is there or not by chance", m.Name)
			}
			if lacks(m.Name) {
				n++
			}
		}
		return n
	}
	for draw := 1; draw <= 9; draw++ {
		if n := count("a/b", draw); n < len(all)/5 || n > 2*len(all)/5 {
			t.Errorf("draw %d: %d of %d metrics are missing", draw, n, len(all))
		}
		if missing("a/b", draw)("job_step_seconds") {
			t.Errorf("draw %d: no steps are stated", draw)
		}
	}
	differ := func(a, b func(telemetry.MetricName) bool) bool {
		return slices.ContainsFunc(all, func(m telemetry.Metric) bool { return a(m.Name) != b(m.Name) })
	}
	if !differ(missing("a/b", 1), missing("a/b", 2)) || !differ(missing("a/b", 1), missing("a/c", 1)) || differ(missing("a/b", 1), missing("x/b", 1)) {
		t.Error("what is missing is of the recording's name and the draw")
	}
}
