package fabric_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/snapshot"
)

// TestWhatAnEndCountedIsKeptWhereItCannotBeRead: a counter of errors has counted, and is
// at its maximum then. What it counted is kept, in a snapshot too, and replaced as soon as
// it can be read again.
func TestWhatAnEndCountedIsKeptWhereItCannotBeRead(t *testing.T) {
	const port = "port:leaf0/h0"
	w := quiet(t, 2, 1, 4)
	w.report(port, "port_rx_crc_errors_total", 1, half, 8)
	m, while, stuck := w.read()
	i := index(t, m, port)
	if v, ok := while.Rate(i, fabric.Damaged); !ok || !near(v, 8) {
		t.Fatalf("damaged: %v, %v; want 8 a second", v, ok)
	}
	var counted fabric.Counted
	counted.Keep(while)
	out := snapshot.NewWriter()
	counted.Snapshot(out)
	var restored fabric.Counted
	restored.Snapshot(snapshot.NewReader(out.Data()))
	restored.Fill(stuck)
	if v, ok := stuck.Rate(i, fabric.Damaged); !ok || !near(v, 8) {
		t.Errorf("damaged: %v, %v at the maximum; want the 8 a second before", v, ok)
	}
	if _, ok := stuck.Rate(i, fabric.Uncorrectable); ok {
		t.Error("codewords that were not counted")
	}

	w.report(port, "port_rx_crc_errors_total", half+1, grids, 0)
	_, _, again := w.read()
	again.Rate(i, fabric.Damaged)
	restored.Keep(again)
	w.report(port, "port_rx_crc_errors_total", half+1, grids, math.NaN())
	_, _, blind := w.read()
	restored.Fill(blind)
	if v, ok := blind.Rate(i, fabric.Damaged); !ok || v != 0 {
		t.Errorf("damaged: %v, %v; want the 0 that was read last", v, ok)
	}
}
