package thin

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// cut makes entries of anything: lengths and bytes.
func cut(b []byte) (r reel) {
	for len(b) > 2 {
		n := min(int(b[0])<<1|int(b[1])&1, len(b)-2)
		r = append(r, Entry{Record: b[2 : 2+n : 2+n], Thinned: b[1]&2 != 0})
		b = b[2+n:]
	}
	return r
}

func uncut(r reel) (b []byte) {
	for _, e := range r {
		n := len(e.Record)
		b = append(b, byte(n>>1), byte(n&1))
		b = append(b, e.Record...)
	}
	return b
}

// FuzzRun: whatever the tape holds, thinning writes no more entries than there
// were, and what it makes can be read.
func FuzzRun(f *testing.F) {
	s := newSource(f, "leaf1", 1, columns())
	f.Add(uncut(noise(s, 1, 6)), uint8(1), uint16(0))
	f.Add(uncut(append(noise(s, 2, 3), event(f, "x", 3))), uint8(4), uint16(200))
	f.Add([]byte{4, 0, 2, 2, 2}, uint8(0), uint16(1))
	f.Fuzz(func(t *testing.T, b []byte, level uint8, keep uint16) {
		in := cut(b)
		out, gone := run(t, in, Pass{Level: int(level) % (TopLevel + 1), Events: 300, Shed: keep > 0, Keep: int(keep)})
		if len(out) > len(in) || out.bytes() > in.bytes() {
			t.Fatalf("%d entries of %d bytes out of %d of %d", len(out), out.bytes(), len(in), in.bytes())
		}
		if keep > 0 && out.bytes() > int(keep) {
			t.Fatalf("%d bytes, at most %d", out.bytes(), keep)
		}
		if gone.Merged.Samples > telemetry.MaxFrameSamples*uint64(len(in)) {
			t.Fatalf("removed %+v of %d entries", gone.Merged, len(in))
		}
		for _, e := range out {
			if !e.Thinned || KindOf(e.Record) != telemetry.FrameRecord {
				continue
			}
			if _, err := telemetry.EncodedFrame(e.Record[1:]).Header(); err != nil {
				continue // it was there before
			}
		}
	})
}

// FuzzFrames makes frames of anything, at any times, and counts their samples.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, uint8(1))
	f.Add([]byte{128, 2, 255, 4, 5, 0, 0, 0, 250, 10, 3, 3, 3, 3}, uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, level uint8) {
		s := newSource(t, "leaf1", 2, columns()[:4])
		in, at := reel{s.stated()}, telemetry.Time(1000*second)
		for b = b[:min(len(b), 1000)]; len(b) > 8; b = b[9:] {
			at = at.Add(telemetry.Duration(int8(b[0])) * second / 4)
			words, states := make([]uint64, 8), make([]telemetry.State, 8)
			for i := range words {
				if states[i] = telemetry.State(b[1+i] % 3); states[i] == telemetry.Present {
					words[i] = uint64(b[1+i])
				}
			}
			in = append(in, s.at(at, words, states))
		}
		distinct := map[[2]int64]bool{}
		for i, samples := range series(t, in, s.schema) {
			for _, x := range samples {
				if !x.gap {
					distinct[[2]int64{int64(i), int64(x.at)}] = true
				}
			}
		}
		out, gone := run(t, in, Pass{Level: int(level)%TopLevel + 1})
		left := 0
		for _, samples := range series(t, out, s.schema) {
			for _, x := range samples {
				if !x.gap {
					left++
				}
			}
		}
		// Samples of one time that lie in groups of their own are counted each.
		if n := left + int(gone.Merged.Samples); n < len(distinct) {
			t.Fatalf("%d samples left and %d removed of %d", left, gone.Merged.Samples, len(distinct))
		}
	})
}

// FuzzMarks compares what is kept of a series with a naive count of it.
func FuzzMarks(f *testing.F) {
	f.Add([]byte{1, 2, 3, 250, 4, 0, 255, 7, 7, 1}, uint8(0))
	f.Add([]byte{9, 1, 9, 1, 9, 1, 254, 9, 1, 9, 1}, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		b = b[:min(len(b), groupRows)]
		r := rows{series: 1, at: make([]telemetry.Instant, len(b)), words: make([]uint64, len(b)), states: make([]telemetry.State, len(b))}
		for i, v := range b {
			switch {
			case v >= 254:
				r.states[i] = telemetry.Gap
			case v >= 250:
			default:
				r.words[i], r.states[i] = uint64(v), telemetry.Present
			}
		}
		var m marker
		marks := m.series(&r, 0, role(how%3), telemetry.Uint)
		if len(marks) > keptInstants {
			t.Fatalf("%d marks", len(marks))
		}
		wanted := make([]bool, len(b))
		for i, k := range marks {
			if i > 0 && k <= marks[i-1] || r.states[k] == telemetry.Absent {
				t.Fatalf("marks %v of %v", marks, b)
			}
			wanted[k] = true
		}
		for k := range wanted { // others want rows, too
			wanted[k] = wanted[k] || k%3 == 0
		}
		chosen := choose(wanted)
		places := arrange(marks, chosen, nil)
		for i, p := range places {
			if p < 0 || p >= len(chosen) || i > 0 && p <= places[i-1] {
				t.Fatalf("marks %v on %v of %v", marks, places, chosen)
			}
		}
	})
}
