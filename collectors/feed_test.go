package collectors_test

import (
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

func twoNICs() *telemetry.Schema {
	return &telemetry.Schema{
		Source:   telemetry.Source{Collector: "test", Target: "h1"},
		Cadence:  1e9,
		Entities: []telemetry.Entity{{Kind: telemetry.NIC, Name: "h1/a"}, {Kind: telemetry.NIC, Name: "h1/b"}},
		Columns: []telemetry.Column{
			{Metric: "port_tx_bytes_total", Type: telemetry.Uint},
			{Metric: "port_pfc_rx_pause_seconds_total", Type: telemetry.Decimal, Exp: 6},
			{Metric: "port_pre_fec_ber", Type: telemetry.Float},
		},
	}
}

func TestAFeedNumbersItsFrames(t *testing.T) {
	s := twoNICs()
	f, err := collectors.NewFeed(s, 7)
	if err != nil {
		t.Fatal(err)
	}
	if r := f.Schema(); r.Kind != telemetry.SchemaRecord || r.Schema != s {
		t.Errorf("schema record %+v", r)
	}
	words := []uint64{1, 1<<64 - 1, 2, 3, 0, 0}
	states := []telemetry.State{2, 2, 2, 1, 0, 0}
	var dec telemetry.Decoder
	var got telemetry.Frame
	for n := range uint64(3) {
		r, err := f.Frame(telemetry.Instant{Source: telemetry.Time(n + 1), Received: telemetry.Time(n + 2)}, words, states)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(r.Frame, s, &got); err != nil {
			t.Fatal(err)
		}
		if got.Sequence != n || got.Incarnation != 7 || got.Words[1] != 1<<64-1 || got.States[3] != telemetry.Gap || got.Words[3] != 0 {
			t.Errorf("frame %d: %+v", n, got)
		}
		if cap(r.Frame) > len(r.Frame)+64 {
			t.Errorf("a frame of %d bytes holds %d", len(r.Frame), cap(r.Frame))
		}
	}
	if _, err := f.Frame(telemetry.Instant{Source: 1}, words[:3], nil); err == nil {
		t.Error("three words for six series: no error")
	}
	if r, err := f.Frame(telemetry.Instant{Source: 9}, words, nil); err != nil {
		t.Error(err)
	} else if h, err := r.Frame.Header(); err != nil || h.Sequence != 3 {
		t.Errorf("a frame that failed took a number: %d, %v", h.Sequence, err)
	}
}

func TestAFeedRefusesAnUnsoundSchema(t *testing.T) {
	if _, err := collectors.NewFeed(&telemetry.Schema{}, 1); err == nil {
		t.Error("no error")
	}
}
