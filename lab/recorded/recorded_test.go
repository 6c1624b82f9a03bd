package recorded_test

import (
	"bytes"
	"testing"

	"github.com/quintet-dc/quintet/lab/recorded"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestTraceIsTheBundle: the trace states what the bundle in testdata does, record
// for record.
func TestTraceIsTheBundle(t *testing.T) {
	rec, err := replay.Open("../../testdata/roce/"+recorded.Name, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	b := recorded.Trace()
	r, err := trace.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	err = rec.Each(func(position uint64, want *telemetry.Record) error {
		at, got, err := r.Next()
		if err != nil {
			return err
		}
		if at != position || !bytes.Equal(encoded(t, got), encoded(t, want)) {
			t.Fatalf("position %d differs: make lab/recorded/%s.qtrace anew with quintet import csv", position, recorded.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Next(); err == nil {
		t.Error("the trace says more than the bundle")
	}
}

func encoded(t *testing.T, r *telemetry.Record) []byte {
	b, err := telemetry.AppendRecord(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
