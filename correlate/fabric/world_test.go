package fabric_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/telemetry"
)

// world is a small leaf-spine fabric whose past is written by hand. Host h3 on
// leaf0 has nic:h3/n0 on port:leaf0/h3; port:leaf0/s1 leads to port:spine1/l0. The
// first half of the grids is before a fault, the second half is during it.
type world struct {
	graph *topology.Graph
	slots map[telemetry.Series]int
	past  [][]float64 // by slot, by grid; NaN where nothing was sampled
	every telemetry.Duration
	hosts int
}

const (
	grid   = telemetry.Duration(1e9)
	grids  = 40
	half   = grids / 2
	epoch  = telemetry.Time(1_000_000e9)
	speed  = 100e9 / 8 // bytes per second of every link
	stands = 1e6       // bytes in a queue that make it a standing one

	txBytes       = "port_tx_bytes_total"
	rxBytes       = "port_rx_bytes_total"
	pauseReceived = "port_pfc_rx_pause_seconds_total"
	pauseSent     = "port_pfc_tx_pause_seconds_total"
	queue         = "port_queue_bytes"
	marked        = "port_ecn_marked_packets_total"
)

// at is the end of grid k, counted from 1.
func at(k int) telemetry.Time { return epoch.Add(telemetry.Duration(k) * grid) }

func before() fabric.Span { return fabric.Span{From: at(0), To: at(half)} }
func now() fabric.Span    { return fabric.Span{From: at(half), To: at(grids)} }

func (w *world) Slot(s telemetry.Series) (int, bool) { i, ok := w.slots[s]; return i, ok }

func (w *world) Last(slot int) (telemetry.Time, bool) { return at(grids), true }

func (w *world) At(slot int, g telemetry.Time) (float64, bool) {
	k := int(g.Sub(epoch)/grid) - 1
	if k < 0 || k >= grids || math.IsNaN(w.past[slot][k]) {
		return 0, false
	}
	return w.past[slot][k], true
}

func (w *world) Held(dst []float64, slot int, first telemetry.Time, n int) []float64 {
	for k := range n {
		v, ok := w.At(slot, first.Add(telemetry.Duration(k)*grid))
		if !ok {
			v = math.NaN()
		}
		dst = append(dst, v)
	}
	return dst
}

func (w *world) Cadence(int) telemetry.Duration { return w.every }

func (w *world) Unmoved(slot int) bool {
	return !slices.ContainsFunc(w.past[slot], func(v float64) bool { return v == v && v != 0 })
}

// build cables the fabric, hosts spread over the leaves in order, without any
// sample.
func build(t testing.TB, leaves, spines, hosts int) *world {
	t.Helper()
	w := &world{graph: topology.New(), slots: map[telemetry.Series]int{}, every: grid, hosts: hosts}
	for h := range hosts {
		leaf := h * leaves / hosts
		w.cable(t, fmt.Sprintf("nic:h%d/n0", h), fmt.Sprintf("port:leaf%d/h%d", leaf, h))
	}
	for l := range leaves {
		for s := range spines {
			w.cable(t, fmt.Sprintf("port:leaf%d/s%d", l, s), fmt.Sprintf("port:spine%d/l%d", s, l))
		}
	}
	w.graph.Advance(at(0))
	return w
}

// quiet builds the fabric and lets every end carry a third of its link, without
// queues and without pause.
func quiet(t testing.TB, leaves, spines, hosts int) *world {
	t.Helper()
	w := build(t, leaves, spines, hosts)
	for _, kind := range []telemetry.Kind{telemetry.NIC, telemetry.Port} {
		for _, e := range w.graph.Entities(kind) {
			for metric, v := range map[string]float64{txBytes: speed / 3, rxBytes: speed / 3, pauseReceived: 0, pauseSent: 0, marked: 0} {
				w.report(e.String(), metric, 1, grids, v)
			}
			if kind == telemetry.Port {
				w.report(e.String(), queue, 1, grids, 0)
			}
		}
	}
	return w
}

func (w *world) cable(t testing.TB, from, to string) {
	t.Helper()
	a, b := entity(from), entity(to)
	e := &telemetry.Edge{From: a, To: b, Relation: telemetry.Connects, Source: "file",
		Attrs: []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: fmt.Sprint(int64(speed * 8))}}}
	if o := w.graph.Add(e); o != topology.Accepted {
		t.Fatalf("%s to %s: %v", from, to, o)
	}
}

// report writes v for the grids from..to of a series.
func (w *world) report(name, metric string, from, to int, v float64) {
	s := telemetry.Series{Entity: entity(name), Metric: telemetry.MetricName(metric)}
	slot, ok := w.slots[s]
	if !ok {
		slot = len(w.past)
		w.slots[s] = slot
		w.past = append(w.past, make([]float64, grids))
		for k := range grids {
			w.past[slot][k] = math.NaN()
		}
	}
	for k := from; k <= to; k++ {
		w.past[slot][k-1] = v
	}
}

// lanes gives each port named the queues of two priorities, which report their own
// pause; they are empty and receive no pause.
func (w *world) lanes(ports ...string) {
	for _, p := range ports {
		for _, lane := range []string{"0", "3"} {
			q := telemetry.Entity{Kind: telemetry.Queue, Name: entity(p).Name + "/" + lane}
			w.graph.Know(q)
			for _, metric := range []string{pauseReceived, pauseSent, queue} {
				w.report(q.String(), metric, 1, grids, 0)
			}
		}
	}
	w.graph.Advance(at(0))
}

// switchPorts lists every port of every switch.
func (w *world) switchPorts() []string {
	var out []string
	for _, p := range w.graph.Entities(telemetry.Port) {
		out = append(out, p.String())
	}
	return out
}

// value returns the sample of an end in grid k: its queue's own where it has one,
// else its port's; NaN where there is none.
func (w *world) value(e *fabric.End, metric string, k int) float64 {
	if s := w.series(e, metric); s.Entity.Kind == telemetry.Queue {
		return w.sample(s.Entity, metric, k)
	}
	return w.sample(e.Entity, metric, k)
}

// pause is the pause that an end sends or receives, mine, in grid k: as it reports it,
// else as its peer reports theirs, if both report by port or by the same priority.
func (w *world) pause(e *fabric.End, mine, theirs string, k int) float64 {
	if _, ok := w.slots[w.series(e, mine)]; ok {
		return w.value(e, mine, k)
	}
	peer, _, ok := w.graph.Peer(e.Entity)
	if !ok || e.Lane == "" && w.byPriority(peer) || e.Lane != "" && !w.hasPriority(peer, e.Lane) {
		return math.NaN()
	}
	return w.value(&fabric.End{Entity: peer, Lane: e.Lane}, theirs, k)
}

// byPriority reports whether queues of a port report pause.
func (w *world) byPriority(port telemetry.Entity) bool {
	return w.hasPriority(port, "0") || w.hasPriority(port, "3")
}

func (w *world) hasPriority(port telemetry.Entity, lane string) bool {
	q := telemetry.Entity{Kind: telemetry.Queue, Name: port.Name + "/" + lane}
	for _, metric := range []string{pauseReceived, pauseSent} {
		if _, ok := w.slots[telemetry.Series{Entity: q, Metric: telemetry.MetricName(metric)}]; ok {
			return true
		}
	}
	return false
}

// series returns the series that holds a metric of an end.
func (w *world) series(e *fabric.End, metric string) telemetry.Series {
	q := telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Queue, Name: e.Entity.Name + "/" + e.Lane}, Metric: telemetry.MetricName(metric)}
	if _, ok := w.slots[q]; ok && e.Lane != "" {
		return q
	}
	return telemetry.Series{Entity: e.Entity, Metric: telemetry.MetricName(metric)}
}

// sample returns the sample of a series in grid k, NaN where there is none.
func (w *world) sample(e telemetry.Entity, metric string, k int) float64 {
	slot, ok := w.slots[telemetry.Series{Entity: e, Metric: telemetry.MetricName(metric)}]
	if !ok {
		return math.NaN()
	}
	return w.past[slot][k-1]
}

// pauses lets an end send pause to its peer for a share of each second of the
// fault.
func (w *world) pauses(name string, share float64) {
	w.report(name, pauseSent, half+1, grids, share)
	if peer, _, ok := w.graph.Peer(entity(name)); ok {
		w.report(peer.String(), pauseReceived, half+1, grids, share)
	}
}

// stands lets a queue build up at a port throughout the fault, while it sends at a
// share of its speed.
func (w *world) stands(name string, rate float64) {
	w.report(name, queue, half+1, grids, stands)
	w.sends(name, rate)
}

// sends lets an end send at a share of its speed throughout the fault.
func (w *world) sends(name string, rate float64) {
	w.report(name, txBytes, half+1, grids, rate*speed)
	if peer, _, ok := w.graph.Peer(entity(name)); ok {
		w.report(peer.String(), rxBytes, half+1, grids, rate*speed)
	}
}

func entity(s string) telemetry.Entity {
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		panic(err) // a test's own name
	}
	return e
}

func nodes(names ...string) []telemetry.Entity {
	var out []telemetry.Entity
	for _, n := range names {
		out = append(out, telemetry.Entity{Kind: telemetry.Node, Name: n})
	}
	return out
}

// read surveys the world and reads both halves.
func (w *world) read() (m *fabric.Map, then, during *fabric.Readings) {
	m = fabric.Survey(w.graph, w)
	return m, m.Read(w, grid, before()), m.Read(w, grid, now())
}

// readBeside reads the present with knowledge of the past.
func (w *world) readBeside() (m *fabric.Map, then, during *fabric.Readings) {
	m = fabric.Survey(w.graph, w)
	then = m.Read(w, grid, before())
	alone := func(n int, fn func(slice, lo, hi int)) { fn(0, 0, n) }
	return m, then, m.ReadEach(fabric.Recording{History: w, Grid: grid, Before: then}, now(), alone)
}

func index(t testing.TB, m *fabric.Map, name string) int {
	t.Helper()
	i, ok := m.Index(entity(name))
	if !ok {
		t.Fatalf("%s is not on the map", name)
	}
	return i
}
