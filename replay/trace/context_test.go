package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// A long trace states its context again: a seek to its end reads the last
// statement and what changed since, not the whole file; and a reader that lost
// the first block gets the context from there.
func TestContextIsStatedAgain(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{})
	if err != nil {
		t.Fatal(err)
	}
	position := uint64(0)
	add := func(r *telemetry.Record) {
		position++
		if err := w.Append(position, r); err != nil {
			t.Fatal(err)
		}
	}
	nic := telemetry.Entity{Kind: telemetry.NIC, Name: "h0/nic0"}
	edge := func(i int) *telemetry.Record {
		return &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: telemetry.Entity{Kind: telemetry.Node, Name: fmt.Sprint("h", i)}, To: nic, Relation: telemetry.Contains, Source: "file"}}
	}
	text := strings.Repeat("x", 60_000)
	for i := range 1000 {
		if i == 0 || i == 990 {
			add(edge(i))
		}
		add(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: nic, At: telemetry.Time(i + 1), Name: "e", Text: text}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	context := 0
	for i := range r.segs {
		if r.segs[i].head.kind == contextBlock {
			context++
		}
	}
	if context < 2 || context > 4 {
		t.Errorf("context is stated again %d times in %d MiB", context, r.Info().Raw>>20)
	}
	if err := r.SeekTime(1000); err != nil {
		t.Fatal(err)
	}
	if len(r.pending) != 2 || r.pending[0].Record.Edge.From.Name != "h0" || r.pending[1].Record.Edge.From.Name != "h990" {
		t.Errorf("at the end stands %v", r.pending)
	}
	bad := bytes.Clone(file.Bytes())
	bad[r.segs[0].offset+blockLen] ^= 1
	r, err = Open(bytes.NewReader(bad), int64(len(bad)))
	if err != nil {
		t.Fatal(err)
	}
	r.SkipDamaged(true)
	edges := 0
	for err == nil {
		var rec *telemetry.Record
		if _, rec, err = r.Next(); err == nil && rec.Kind == telemetry.EdgeRecord {
			edges++
		}
	}
	if !errors.Is(err, io.EOF) || edges != 2 {
		t.Errorf("%d edges, want both; then %v", edges, err)
	}
}
