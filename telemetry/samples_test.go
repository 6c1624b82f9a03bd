package telemetry

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestSamplesAreWhatTheFrameHolds: each that is not absent, once, in order.
func TestSamplesAreWhatTheFrameHolds(t *testing.T) {
	s := testSchema(5)
	rng := rand.New(rand.NewPCG(7, 8))
	var r SampleReader
	r.Learn(testSchema(4))
	r.Learn(s)
	var e Encoder
	for _, holes := range []bool{false, true} {
		f := testFrame(rng, s, 4, holes)
		b, err := e.AppendFrame(nil, s, f)
		if err != nil {
			t.Fatal(err)
		}
		var want []Sample
		for k := range f.Instants {
			for c, column := range s.Columns {
				for i, entity := range s.Entities {
					at := k*s.Len() + c*len(s.Entities) + i
					if f.State(at) != Absent {
						want = append(want, Sample{Series{entity, column.Metric}, s.Source, column, f.Time(k), f.State(at), f.Words[at]})
					}
				}
			}
		}
		samples, err := r.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		for x := range samples {
			if len(want) == 0 || x != want[0] {
				t.Fatalf("holes %v: %+v, want %d more, the first of %+v", holes, x, len(want), want[:min(1, len(want))])
			}
			want = want[1:]
		}
		if len(want) > 0 {
			t.Errorf("holes %v: %d samples are missing", holes, len(want))
		}
	}
}

func TestAFrameIsNotReadBeforeItsSchemaNorDamaged(t *testing.T) {
	s := testSchema(3)
	var e Encoder
	b, err := e.AppendFrame(nil, s, testFrame(rand.New(rand.NewPCG(9, 10)), s, 2, true))
	if err != nil {
		t.Fatal(err)
	}
	var r SampleReader
	if _, err := r.Read(b); !errors.Is(err, ErrUnstated) {
		t.Errorf("before its schema: %v", err)
	}
	r.Learn(s)
	if _, err := r.Read(b); err != nil {
		t.Error(err)
	}
	for n := range b {
		if _, err := r.Read(b[:n]); err == nil || errors.Is(err, ErrUnstated) {
			t.Errorf("cut at %d of %d: %v", n, len(b), err)
		}
	}
}
