package thin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// told writes the samples of one series as "second:word", "second:-" for a gap.
func told(s []sample, from telemetry.Time) string {
	var out []string
	for _, x := range s {
		at := x.at.Sub(from) / second
		if x.gap {
			out = append(out, fmt.Sprintf("%d:-", at))
		} else {
			out = append(out, fmt.Sprintf("%d:%d", at, x.word))
		}
	}
	return strings.Join(out, " ")
}

func TestWhatSurvives(t *testing.T) {
	const g, a = -1, -2 // a gap, absent
	for _, c := range []struct {
		name, metric string
		in           []int
		want         string
	}{
		{"a counter's last", "port_rx_bytes_total", []int{1, 4, 7, 9}, "3:9"},
		{"both sides of a reset", "port_rx_bytes_total", []int{1, 90, 3, 5, 8}, "1:90 2:3 4:8"},
		{"the last two resets", "port_rx_bytes_total", []int{5, 1, 6, 2, 7, 3, 8}, "2:6 3:2 4:7 5:3 6:8"},
		{"an undeclared counter", "of_nobody_total", []int{1, 90, 3, 5, 8}, "1:90 2:3 4:8"},
		{"a gauge's extremes", "port_queue_bytes", []int{5, 1, 9, 4, 6}, "1:1 2:9 4:6"},
		{"of equals the earliest", "port_queue_bytes", []int{5, 1, 9, 9, 1, 5}, "1:1 2:9 5:5"},
		{"a flat gauge", "port_queue_bytes", []int{5, 5, 5}, "0:5 2:5"},
		{"an undeclared gauge", "of_nobody", []int{5, 1, 9, 4, 6}, "1:1 2:9 4:6"},
		{"changes of a state", "port_up", []int{1, 1, 0, 0, 1, 1}, "0:1 2:0 4:1 5:1"},
		{"the last six changes", "port_up", []int{0, 1, 0, 1, 0, 1, 0, 1}, "2:0 3:1 4:0 5:1 6:0 7:1"},
		{"a gap in between", "port_queue_bytes", []int{5, g, 5}, "0:5 2:5"},
		{"a gap at the end", "port_queue_bytes", []int{5, 7, g, g}, "0:5 1:7 3:-"},
		{"nothing but gaps", "port_queue_bytes", []int{g, g, g}, "2:-"},
		{"absent at the end", "port_rx_bytes_total", []int{5, 7, a, a}, "1:7"},
		{"nothing at all", "port_queue_bytes", []int{a, a, a}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSource(t, "leaf1", 1, []telemetry.Column{{Metric: telemetry.MetricName(c.metric), Type: telemetry.Uint}})
			in := reel{s.stated()}
			const from = telemetry.Time(1000 * second) // ten seconds begin there
			for k, v := range c.in {
				at := from.Add(telemetry.Duration(k) * second)
				switch v {
				case g:
					in = append(in, s.at(at, []uint64{0}, []telemetry.State{telemetry.Gap}))
				case a:
					in = append(in, s.at(at, []uint64{0}, []telemetry.State{telemetry.Absent}))
				default:
					in = append(in, s.at(at, []uint64{uint64(v)}, nil))
				}
			}
			out, gone := run(t, in, Pass{Level: 1})
			if got := told(series(t, out, s.schema)[0], from); got != c.want {
				t.Errorf("%v: %q, want %q", c.in, got, c.want)
			}
			if len(out) != 2 || !out[1].Thinned || gone.Merged.Frames != uint64(len(c.in)-1) {
				t.Errorf("%d entries, %d frames removed", len(out), gone.Merged.Frames)
			}
		})
	}
}

// Merged frames of an interval keep the times of measurement while there is room,
// and the order of the samples where there is not.
func TestSamplesMoveOnlyWhereThereIsNoRoom(t *testing.T) {
	s := newSource(t, "leaf1", 40, []telemetry.Column{{Metric: "port_queue_bytes", Type: telemetry.Uint}})
	in := reel{s.stated()}
	const from = telemetry.Time(1000 * second)
	for k := range 40 {
		words := make([]uint64, 40)
		for i := range words {
			words[i] = 50
			switch k {
			case i:
				words[i] = 99 // each series has its peak in an instant of its own,
			case i + 1:
				words[i] = 1 // and its dip right behind it
			}
		}
		in = append(in, s.at(from.Add(telemetry.Duration(k)*second), words, nil))
	}
	out, _ := run(t, in, Pass{Level: 2})
	for i, got := range series(t, out, s.schema) {
		values, times := []uint64{}, map[telemetry.Time]bool{}
		for _, x := range got {
			values = append(values, x.word)
			times[x.at] = true
		}
		peak := slices.Index(values, 99)
		dip := slices.Index(values, 1)
		if i < 39 && (peak < 0 || dip < peak) || i == 39 && peak < 0 {
			t.Errorf("series %d: %v: the peak, and then the dip", i, values)
		}
		if len(times) != len(got) || len(got) > 3 {
			t.Errorf("series %d: %d samples at %d times", i, len(got), len(times))
		}
		if off := got[max(peak, 0)].at.Sub(from.Add(telemetry.Duration(i) * second)); off < -10*second || off > 5*second {
			t.Errorf("series %d: its peak moved by %v; late by at most an eighth of forty seconds, early by two", i, off)
		}
	}
	frames := 0
	for _, e := range out {
		if KindOf(e.Record) == telemetry.FrameRecord {
			frames++
			h, err := telemetry.EncodedFrame(e.Record[1:]).Header()
			if err != nil || h.Instants > keptInstants || h.Sequence != 40 {
				t.Errorf("a frame of %d instants, number %d, %v", h.Instants, h.Sequence, err)
			}
		}
	}
	if frames != 1 {
		t.Errorf("%d frames", frames)
	}
}

// bounds are what must survive of a series, whatever is thinned.
type bounds struct {
	lowest, highest, last uint64
	blind                 bool // it ends with a gap
}

func boundsOf(c telemetry.Column, s []sample) (b bounds, samples, gaps int) {
	for _, x := range s {
		b.blind = x.gap
		if x.gap {
			gaps++
			continue
		}
		if samples++; samples == 1 {
			b = bounds{x.word, x.word, x.word, false}
		}
		if less(c.Type, x.word, b.lowest) {
			b.lowest = x.word
		}
		if less(c.Type, b.highest, x.word) {
			b.highest = x.word
		}
		b.last = x.word
	}
	if strings.HasSuffix(string(c.Metric), "_total") {
		b.lowest, b.highest = 0, 0
	}
	return b, samples, gaps
}

// increase is a counter's, a fall being a reset.
func increase(c telemetry.Column, s []sample) (sum float64) {
	before := math.NaN()
	for _, x := range s {
		if v := c.Float(x.word); !x.gap {
			if v >= before {
				sum += v - before
			} else if v < before {
				sum += v
			}
			before = v
		}
	}
	return sum
}

func TestNothingVanishesUncountedAtAnyLevel(t *testing.T) {
	for seed := range uint64(6) {
		s := newSource(t, "leaf1", 3, columns())
		in := noise(s, seed, 400)
		before := series(t, in, s.schema)
		var total Result
		for level := range 6 {
			out, gone := run(t, in, Pass{Level: level})
			total.Add(gone)
			if again, gone := run(t, out, Pass{Level: level}); gone != (Result{}) || len(again) != len(out) {
				t.Errorf("level %d twice: %+v more removed, %d entries of %d", level, gone, len(again), len(out))
			}
			if level > 0 && out.bytes() > in.bytes() {
				t.Errorf("level %d: %d bytes of %d", level, out.bytes(), in.bytes())
			}
			after := series(t, out, s.schema)
			stored, wanted := [2]int{}, [2]int{}
			for i := range before {
				c := s.schema.Columns[i/len(s.schema.Entities)]
				want, n, gaps := boundsOf(c, before[i])
				wanted = [2]int{wanted[0] + n, wanted[1] + gaps}
				got, n, gaps := boundsOf(c, after[i])
				stored = [2]int{stored[0] + n, stored[1] + gaps}
				if got != want {
					t.Errorf("seed %d level %d %s: %+v of %+v", seed, level, s.schema.Series(i), got, want)
				}
			}
			if stored[0]+int(total.Merged.Samples) != wanted[0] || stored[1]+int(total.Merged.Gaps) != wanted[1] {
				t.Errorf("seed %d level %d: %v of %v, removed %+v", seed, level, stored, wanted, total.Merged)
			}
			in = out
		}
		if total.Dropped != (Removal{}) {
			t.Errorf("dropped %+v", total.Dropped)
		}
	}
}

func TestTheIncreaseOfACounterSurvives(t *testing.T) {
	s := newSource(t, "leaf1", 1, []telemetry.Column{{Metric: "port_rx_bytes_total", Type: telemetry.Uint}})
	in := reel{s.stated()}
	w := uint64(100)
	for k := range 600 {
		if w += uint64(k % 7); k == 100 || k == 350 {
			w = 3
		}
		in = append(in, s.at(telemetry.Time(k+1000)*telemetry.Time(second), []uint64{w}, nil))
	}
	c := s.schema.Columns[0]
	want := increase(c, series(t, in, s.schema)[0])
	for level := range 6 {
		in, _ = run(t, in, Pass{Level: level})
		got := series(t, in, s.schema)[0]
		if sum := increase(c, got); sum < want-float64(got[0].word-100) || sum > want {
			t.Errorf("level %d: an increase of %v, want %v but for what lies before %d", level, sum, want, got[0].word)
		}
	}
}

func TestWhatIsNotUnderstoodIsCopied(t *testing.T) {
	s, other := newSource(t, "leaf1", 1, columns()), newSource(t, "leaf2", 1, columns())
	in := noise(s, 1, 5)[1:] // schema not found
	in = append(in, Entry{Record: []byte{9, 9, 9}}, Entry{Record: []byte{2}}, Entry{Record: append([]byte{2}, make([]byte, 40)...)}, event(t, "e", 1))
	out, gone := run(t, in, Pass{Level: 3, Events: 1 << 20})
	if len(out) != len(in) || gone != (Result{}) {
		t.Errorf("%d entries of %d, removed %+v", len(out), len(in), gone)
	}
	known := other.stated().Record
	in = noise(other, 1, 5)[1:]
	out, _ = run(t, in, Pass{Level: 3, Schemas: func(fp telemetry.Fingerprint) []byte { return known }})
	if len(out) != 1 {
		t.Errorf("%d frames: the schema was to be had", len(out))
	}
}

func TestIncarnationsAndClocksAreNotMixed(t *testing.T) {
	s := newSource(t, "leaf1", 1, columns()[:1])
	in := reel{s.stated()}
	for k := range 6 {
		s.frame.Incarnation = uint64(1 + k/2)
		in = append(in, s.at(telemetry.Time(1000*second).Add(telemetry.Duration(k)*second), []uint64{uint64(k)}, nil))
	}
	if out, _ := run(t, in, Pass{Level: 1}); len(out) != 1+3 {
		t.Errorf("%d entries, want the schema and one frame for each incarnation", len(out))
	}
}

func TestALateFrameIsMergedInItsPlace(t *testing.T) {
	s := newSource(t, "leaf1", 1, []telemetry.Column{{Metric: "port_rx_bytes_total", Type: telemetry.Uint}})
	in := reel{s.stated()}
	for _, k := range []int{0, 2, 1, 3, 3} {
		in = append(in, s.at(telemetry.Time(1000*second).Add(telemetry.Duration(k)*second), []uint64{uint64(10 * k)}, nil))
	}
	out, _ := run(t, in, Pass{Level: 1})
	if got := told(series(t, out, s.schema)[0], telemetry.Time(1000*second)); got != "3:30" {
		t.Errorf("%q", got)
	}
}

func TestTheLargestRecordIsKeptTo(t *testing.T) {
	s := newSource(t, "leaf1", 20, columns())
	in := noise(s, 1, 10)
	if out, _ := run(t, in, Pass{Level: 1, Largest: 100}); len(out) != len(in) {
		t.Errorf("%d entries of %d: what they would be merged into is too large", len(out), len(in))
	}
}

func TestWhatIsGivenUpFirst(t *testing.T) {
	a, b := newSource(t, "leaf1", 2, columns()), newSource(t, "leaf2", 2, columns())
	edge := encode(t, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{
		From: telemetry.Entity{Kind: telemetry.Node, Name: "h1"}, To: telemetry.Entity{Kind: telemetry.NIC, Name: "h1/nic0"}, Relation: telemetry.Contains, Source: "sysfs"}})
	in := slices.Concat(noise(a, 1, 10), noise(b, 2, 10), reel{edge, event(t, "one", 100), event(t, "two", 100)})
	last := reel{in[0], in[10], in[11], in[21], in[22], in[23], in[24]}
	kinds := func(r reel) string {
		var out strings.Builder
		for _, e := range r {
			out.WriteString(KindOf(e.Record).String()[:2])
		}
		return out.String()
	}
	for _, c := range []struct {
		name string
		keep int
		want string
	}{
		{"enough room", in.bytes(), "sc" + strings.Repeat("fr", 10) + "sc" + strings.Repeat("fr", 10) + "edevev"},
		{"the oldest frames", in.bytes() - in[1].size() - in[2].size(), "sc" + strings.Repeat("fr", 8) + "sc" + strings.Repeat("fr", 10) + "edevev"},
		{"all but the last of each", last.bytes(), "scfrscfredevev"},
		{"then events", last.bytes() - 1, "scfrscfredev"},
		{"then the last frames", last.bytes() - 2*in[23].size() - 1, "scscfred"},
		{"then everything", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, gone := run(t, in, Pass{Shed: true, Keep: c.keep, Events: 1 << 20})
			if got := kinds(out); got != c.want {
				t.Errorf("%s (%d bytes) is left, want %s", got, out.bytes(), c.want)
			}
			d := gone.Dropped
			if n := len(in) - int(d.Frames+d.Events+d.Others); n != len(out) || d.Frames > 0 && d.Samples == 0 {
				t.Errorf("%d entries left, dropped %+v", len(out), d)
			}
		})
	}
}

func (e Entry) size() int { return len(e.Record) }

func TestEventsAreBounded(t *testing.T) {
	var in reel
	for i := range 10 {
		in = append(in, event(t, fmt.Sprint(i), 50))
	}
	out, gone := run(t, in, Pass{Level: 1, Events: 4 * in[0].size()})
	if len(out) != 4 || gone.Dropped.Events != 6 || string(out[0].Record) != string(in[6].Record) {
		t.Errorf("%d events left, %+v dropped: the oldest go", len(out), gone.Dropped)
	}
}

func TestASchemaSaidTwiceIsWrittenOnce(t *testing.T) {
	s := newSource(t, "leaf1", 1, columns())
	in := append(noise(s, 1, 3), s.stated())
	if out, gone := run(t, in, Pass{}); len(out) != 4 || gone != (Result{}) {
		t.Errorf("%d entries, %+v", len(out), gone)
	}
}

var errTorn = errors.New("torn")

// torn is a tape that cannot be read from somewhere on.
type torn struct {
	reel
	reads int
}

func (x *torn) Entry(i int) (Entry, error) {
	if x.reads--; x.reads < 0 {
		return Entry{}, errTorn
	}
	return x.reel.Entry(i)
}

func TestATornTapeIsAnErrorOrACopy(t *testing.T) {
	in := noise(newSource(t, "leaf1", 1, columns()), 1, 6)
	for reads := range 30 {
		_, err := Run(&torn{in, reads}, Pass{Level: 1, Largest: 1 << 20, Shed: true, Keep: 300, Catalogue: telemetry.DefaultCatalogue()}, func(Entry) error { return nil })
		if err != nil && !errors.Is(err, errTorn) {
			t.Errorf("%d reads: %v", reads, err)
		}
	}
}
