package sysfs

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/sysfs/ethtool"
	"github.com/quintet-dc/quintet/telemetry"
)

// walk drives a reader through time by hand.
type walk struct {
	t      *testing.T
	forest *forest
	reader *reader
	time   time.Time

	samples telemetry.SampleReader
	last    map[string]float64 // the newest sample of each series; a gap is -1
	fresh   map[string]bool    // those of the last sweep
	events  []string
	edges   []string
	sweep   collectors.Sweep
}

// baseTree is one InfiniBand port of two.
const baseTree = `
-- class/infiniband/mlx5_0/device --
-> ../../../devices/0000:1a:00.0
-- devices/0000:1a:00.0/driver --
-> ../../drivers/mlx5_core
-- devices/0000:1a:00.0/current_link_width --
16
-- class/infiniband/mlx5_0/node_guid --
a088:c203:0001:0001
-- class/infiniband/mlx5_0/fw_ver --
28.41.1000
-- class/infiniband/mlx5_0/ports/1/state --
4: ACTIVE
-- class/infiniband/mlx5_0/ports/1/phys_state --
5: LinkUp
-- class/infiniband/mlx5_0/ports/1/rate --
400 Gb/sec (4X NDR)
-- class/infiniband/mlx5_0/ports/1/link_layer --
InfiniBand
-- class/infiniband/mlx5_0/ports/1/counters/port_xmit_data --
100
-- class/infiniband/mlx5_0/ports/1/counters/unicast_rcv_packets --
1
-- class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence --
5
-- class/infiniband/mlx5_0/ports/1/hw_counters/lifespan --
10
-- class/infiniband/mlx5_1/ports/1/state --
1: DOWN
-- class/infiniband/mlx5_1/ports/1/link_layer --
InfiniBand
`

func newWalk(t *testing.T, text string) *walk {
	t.Helper()
	w := &walk{t: t, forest: grow(txtar.Parse([]byte(text)).Files), time: time.Unix(1e9, 0), last: map[string]float64{}}
	c, err := New(Config{Path: "recorded", Node: "h1"})
	if err != nil {
		t.Fatal(err)
	}
	c.tree = w.forest
	c.clock = func() time.Time { return w.time }
	w.forest.pause = func(d time.Duration) { w.time = w.time.Add(d) }
	w.reader, err = c.newReader(w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.reader.replan(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.reader.close)
	return w
}

// step lets a second pass and reads.
func (w *walk) step(n int) {
	for range n {
		w.time = w.time.Truncate(time.Second).Add(time.Second)
		w.fresh = map[string]bool{}
		w.reader.sweep(w.t.Context())
	}
}

// Logger implements collectors.Sink.
func (w *walk) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (w *walk) Swept(s collectors.Sweep) {
	s.Dropped = maps.Clone(s.Dropped)
	w.sweep = s
}

func (w *walk) Emit(r *telemetry.Record) {
	collectorstest.Strict{T: w.t}.Emit(r)
	switch r.Kind {
	case telemetry.SchemaRecord:
		w.samples.Learn(r.Schema)
	case telemetry.EventRecord:
		w.events = append(w.events, fmt.Sprintf("%s %s %s", r.Event.Entity, r.Event.Name, r.Event.Text))
	case telemetry.EdgeRecord:
		text := fmt.Sprintf("%s %s %s", r.Edge.From, r.Edge.Relation, r.Edge.To)
		if r.Edge.End != 0 {
			text += " ended"
		}
		if r.Edge.Start != 0 {
			text += " late"
		}
		w.edges = append(w.edges, text)
	case telemetry.FrameRecord:
		w.frame(r.Frame)
	}
}

func (w *walk) frame(b telemetry.EncodedFrame) {
	samples, err := w.samples.Read(b)
	if err != nil {
		w.t.Fatal(err)
	}
	for x := range samples {
		name, value := x.Series.String(), x.Float()
		if x.State == telemetry.Gap {
			value = -1
		}
		w.last[name], w.fresh[name] = value, true
	}
}

// wants compares the newest samples and all events with the expected ones.
func (w *walk) wants(values map[string]float64, events ...string) {
	w.t.Helper()
	for _, s := range slices.Sorted(maps.Keys(values)) {
		if got, ok := w.last[s]; !ok || got != values[s] {
			w.t.Errorf("%s is %v, want %v", s, got, values[s])
		}
	}
	if !slices.Equal(w.events, events) {
		w.t.Errorf("events %q, want %q", w.events, events)
	}
	w.events = nil
}

const port1 = "class/infiniband/mlx5_0/ports/1/"

func TestALinkGoesDownAndComesUp(t *testing.T) {
	w := newWalk(t, baseTree)
	w.step(2)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": 1, "nic:h1/mlx5_0 port_speed_bits_per_second": 400e9, "nic:h1/mlx5_1 port_up": 0})
	w.forest.set(port1+"state", "1: DOWN")
	w.forest.set(port1+"phys_state", "2: Polling")
	w.step(2)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": 0, "nic:h1/mlx5_0 port_physical_state": 2, "nic:h1/mlx5_0 port_logical_state": 1},
		"nic:h1/mlx5_0 link_down state ACTIVE -> DOWN, physical state LinkUp -> Polling")
	if w.fresh["nic:h1/mlx5_0 port_speed_bits_per_second"] {
		t.Error("a port that is down has a speed")
	}
	w.forest.set(port1+"state", "2: INIT") // trained, waits for the subnet manager
	w.forest.set(port1+"phys_state", "5: LinkUp")
	w.step(1)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": 0, "nic:h1/mlx5_0 port_logical_state": 2})
	w.forest.set(port1+"state", "!EIO") // not known: neither up nor down
	w.step(1)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": -1})
	w.forest.set(port1+"state", "4: ACTIVE")
	w.step(1)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": 1}, "nic:h1/mlx5_0 link_up state INIT -> ACTIVE, physical state LinkUp -> LinkUp")
}

func TestADeviceVanishesAndReturns(t *testing.T) {
	w := newWalk(t, baseTree)
	w.step(3)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_tx_bytes_total": 400})
	w.edges = nil
	away := w.forest.cut("class/infiniband/mlx5_0")
	w.step(1)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": 0, "nic:h1/mlx5_0 port_tx_bytes_total": -1},
		"nic:h1/mlx5_0 link_down state ACTIVE -> gone, physical state LinkUp -> unknown")
	if w.sweep.Dropped[collectors.Vanished] == 0 {
		t.Errorf("dropped %v", w.sweep.Dropped)
	}
	if want := []string{"node:h1 contains nic:h1/mlx5_0 ended"}; !slices.Equal(w.edges, want) {
		t.Errorf("edges %q", w.edges)
	}
	w.step(30)
	if w.fresh["nic:h1/mlx5_0 port_up"] || !w.fresh["nic:h1/mlx5_1 port_up"] {
		t.Errorf("what is told of: %v", w.fresh)
	}
	w.edges = nil
	w.forest.graft("class/infiniband/mlx5_0", away)
	w.step(11) // the tree is looked at every ten seconds
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": 1, "nic:h1/mlx5_0 port_tx_bytes_total": 400},
		"nic:h1/mlx5_0 link_up state gone -> ACTIVE, physical state unknown -> LinkUp")
	if want := []string{"node:h1 contains nic:h1/mlx5_0 late"}; !slices.Equal(w.edges, want) {
		t.Errorf("edges %q", w.edges)
	}
	if n := w.forest.opened; n > 20 {
		t.Errorf("%d files are open", n)
	}
}

func TestADeviceIsRenamed(t *testing.T) {
	w := newWalk(t, baseTree)
	w.step(1)
	w.forest.graft("class/infiniband/rocep26s0", w.forest.cut("class/infiniband/mlx5_0"))
	w.step(12)
	if want := []string{"nic:h1/rocep26s0 config_changed name h1/mlx5_0 -> h1/rocep26s0"}; !slices.Contains(w.events, want[0]) {
		t.Errorf("events %q, want %q", w.events, want)
	}
	if w.last["nic:h1/rocep26s0 port_tx_bytes_total"] != 400 || w.last["nic:h1/rocep26s0 roce_out_of_sequence_total"] != 5 {
		t.Errorf("under its new name: %v", w.last)
	}
}

// A file may come (an optional counter switched on) or go without its device.
func TestAFileComesAndGoes(t *testing.T) {
	w := newWalk(t, baseTree)
	w.step(1)
	w.forest.set(port1+"hw_counters/cc_rx_ce_pkts", "9")
	w.step(11)
	w.wants(map[string]float64{"nic:h1/mlx5_0 roce_rx_ce_packets_total": 9, "nic:h1/mlx5_0 roce_out_of_sequence_total": 5})
	w.forest.cut(port1 + "hw_counters/cc_rx_ce_pkts")
	w.step(2)
	w.wants(nil)
	if w.fresh["nic:h1/mlx5_0 roce_rx_ce_packets_total"] {
		t.Error("a file that is gone is still told of")
	}
}

// A driver is reloaded: its files are others under the same names.
func TestFilesAreReopened(t *testing.T) {
	w := newWalk(t, baseTree)
	w.step(1)
	w.forest.set(port1+"hw_counters/out_of_sequence", "!ENODEV")
	w.step(1)
	w.wants(map[string]float64{"nic:h1/mlx5_0 roce_out_of_sequence_total": -1})
	w.forest.set(port1+"hw_counters/out_of_sequence", "6")
	w.step(1)
	w.wants(map[string]float64{"nic:h1/mlx5_0 roce_out_of_sequence_total": 6})
}

func TestConfigurationChanges(t *testing.T) {
	w := newWalk(t, baseTree+"-- devices/0000:1a:00.0/net/eth2/mtu --\n9000\n-- devices/0000:1a:00.0/net/eth2/qos/trust --\ndscp\n-- devices/0000:1a:00.0/net/eth2/ecn/roce_np/enable/3 --\n1\n")
	w.step(1)
	w.wants(map[string]float64{"nic:h1/mlx5_0 pcie_link_width": 16, "queue:h1/mlx5_0/3 port_ecn_enabled": 1})
	w.forest.set("class/infiniband/mlx5_0/fw_ver", "28.42.1000")
	w.forest.set("devices/0000:1a:00.0/current_link_width", "8")
	w.forest.set("devices/0000:1a:00.0/net/eth2/mtu", "!EIO")
	w.forest.set("devices/0000:1a:00.0/net/eth2/qos/trust", "pcp")
	w.forest.set("devices/0000:1a:00.0/net/eth2/ecn/roce_np/enable/3", "0")
	w.step(11)
	w.wants(map[string]float64{"nic:h1/mlx5_0 pcie_link_width": 8, "queue:h1/mlx5_0/3 port_ecn_enabled": 1},
		"nic:h1/mlx5_0 config_changed fw_ver 28.41.1000 -> 28.42.1000", "nic:h1/mlx5_0 config_changed pcie/current_link_width 16 -> 8")
	w.step(60) // what is a command to the device is asked once a minute
	w.wants(map[string]float64{"queue:h1/mlx5_0/3 port_ecn_enabled": 0},
		"nic:h1/mlx5_0 config_changed net/qos/trust dscp -> pcp", "nic:h1/mlx5_0 config_changed net/ecn/roce_np/enable/3 1 -> 0")
}

// The module's temperature is a reading: it is reported every time, and its changes
// are no events. The chip's own is another sensor.
func TestTheModulesTemperature(t *testing.T) {
	const sensors, series = "devices/0000:1a:00.0/hwmon/hwmon3/", "nic:h1/mlx5_0 optic_temperature_celsius"
	w := newWalk(t, baseTree+"-- "+sensors+"name --\nmlx5\n-- "+sensors+"temp1_label --\nasic\n-- "+sensors+"temp1_input --\n65000\n-- "+sensors+"temp2_label --\nModule0\n-- "+sensors+"temp2_input --\n48250\n")
	w.step(1)
	w.wants(map[string]float64{series: 48.25})
	w.forest.set(sensors+"temp2_input", "71000")
	w.step(11)
	w.wants(map[string]float64{series: 71})
	w.forest.set(sensors+"temp2_input", "!EIO")
	w.step(11)
	w.wants(map[string]float64{series: -1})
}

// A kernel that does not know a speed reports SDR. It is accepted once the port has
// shown another, or where the interface reports the same.
func TestSDRIsDoubted(t *testing.T) {
	w := newWalk(t, baseTree)
	speed := "nic:h1/mlx5_0 port_speed_bits_per_second"
	w.forest.set(port1+"rate", "10 Gb/sec (4X SDR)")
	w.step(1)
	w.wants(map[string]float64{speed: -1})
	if w.sweep.Dropped[collectors.Unknown] != 1 {
		t.Errorf("dropped %v", w.sweep.Dropped)
	}
	w.forest.set(port1+"rate", "200 Gb/sec (4X HDR)")
	w.step(1)
	w.wants(map[string]float64{speed: 200e9})
	w.forest.set(port1+"rate", "10 Gb/sec (4X SDR)")
	w.step(1)
	w.wants(map[string]float64{speed: 10e9})
}

// hw_counters repeat an old value for their lifespan: they are not asked
// before it is over.
func TestLifespanIsRespected(t *testing.T) {
	w := newWalk(t, baseTree)
	w.forest.set(port1+"hw_counters/lifespan", "5000")
	times := 0
	for range 20 {
		w.step(1)
		if w.fresh["nic:h1/mlx5_0 roce_out_of_sequence_total"] {
			times++
		}
		if !w.fresh["nic:h1/mlx5_0 port_tx_bytes_total"] {
			t.Error("counters/ waited for hw_counters/")
		}
	}
	if times != 4 {
		t.Errorf("read %d times in 20 s, want 4", times)
	}
	if w.sweep.Dropped[collectors.Skipped] != 2 {
		t.Errorf("dropped %v, want two files skipped", w.sweep.Dropped)
	}
}

// What reads slowly is read less often, and often again when it is quick.
func TestSlowFilesRest(t *testing.T) {
	w := newWalk(t, baseTree)
	read := func(steps int) (times int) {
		for range steps {
			w.step(1)
			if w.fresh["nic:h1/mlx5_0 port_tx_bytes_total"] {
				times++
			}
		}
		return times
	}
	if n := read(10); n != 10 {
		t.Errorf("quick files were read %d times in 10 s", n)
	}
	w.forest.slow = 100 * time.Millisecond // two files: a group takes 200 ms
	read(20)
	if n := read(40); n < 5 || n > 15 {
		t.Errorf("slow files were read %d times in 40 s, want about one in four", n)
	}
	w.forest.slow = 0
	read(60)
	if n := read(10); n != 10 {
		t.Errorf("quick files were read %d times in 10 s", n)
	}
}

// The driver's table changes with configuration, also without growing: numbers
// never come under wrong names.
func TestTheTableOfStatisticsChanges(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "eth2.txt"), []byte("NIC statistics:\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(" rx_prio0_bytes: 1\n rx_prio3_pause: 2\n")
	w := newWalk(t, baseTree+"-- devices/0000:1a:00.0/net/eth2/mtu --\n9000\n")
	w.reader.stats = ethtool.Recorded(dir)
	if err := w.reader.replan(); err != nil {
		t.Fatal(err)
	}
	w.step(2)
	w.wants(map[string]float64{"queue:h1/mlx5_0/3 port_pfc_rx_pause_frames_total": 2, "queue:h1/mlx5_0/3 port_pfc_enabled": 1, "queue:h1/mlx5_0/4 port_pfc_enabled": 0})
	write(" rx_prio0_bytes: 3\n rx_prio4_pause: 4\n")
	w.step(1)
	if got := w.last["queue:h1/mlx5_0/3 port_pfc_rx_pause_frames_total"]; got != -1 || w.sweep.Dropped[collectors.Stale] != 2 {
		t.Errorf("with another table: %v, dropped %v", got, w.sweep.Dropped)
	}
	w.step(1)
	w.wants(map[string]float64{"queue:h1/mlx5_0/4 port_pfc_rx_pause_frames_total": 4, "queue:h1/mlx5_0/3 port_pfc_enabled": 0, "queue:h1/mlx5_0/4 port_pfc_enabled": 1},
		"nic:h1/mlx5_0 config_changed net/lossless_priorities 3 -> 4")
	if err := os.Remove(filepath.Join(dir, "eth2.txt")); err != nil {
		t.Fatal(err)
	}
	w.step(3)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_up": 1, "queue:h1/mlx5_0/4 port_pfc_rx_pause_frames_total": -1})
}

// What the device reports not to have is not asked every second.
func TestUnsupportedFilesRest(t *testing.T) {
	w := newWalk(t, baseTree)
	w.forest.set(port1+"counters/port_xmit_data", "!EINVAL")
	total := 0
	for range 60 {
		w.step(1)
		total += w.sweep.Dropped[collectors.Unsupported]
	}
	if total != 1 {
		t.Errorf("counted %d times in a minute", total)
	}
	w.forest.set(port1+"counters/port_xmit_data", "7")
	w.step(5)
	w.wants(map[string]float64{"nic:h1/mlx5_0 port_tx_bytes_total": 28})
}

func TestTooMuchIsCounted(t *testing.T) {
	var b strings.Builder
	b.WriteString(baseTree)
	for i := range maxEntries + 100 {
		fmt.Fprintf(&b, "-- %shw_counters/z%d --\n%d\n", port1, i, i)
	}
	for i := range maxDevices + 10 {
		fmt.Fprintf(&b, "-- class/infiniband/a%03d/node_type --\n1: CA\n", i)
	}
	w := newWalk(t, b.String())
	w.step(1)
	if n := w.sweep.Dropped[collectors.OverLimit]; n < 10 {
		t.Errorf("dropped %v", w.sweep.Dropped)
	}
	if len(w.reader.plan.devices) != maxDevices {
		t.Errorf("%d devices", len(w.reader.plan.devices))
	}
	w = newWalk(t, strings.Split(b.String(), "-- class/infiniband/a000")[0])
	w.step(1)
	if n := w.sweep.Dropped[collectors.OverLimit]; n != 102 { // out_of_sequence and lifespan are among the first
		t.Errorf("dropped %v", w.sweep.Dropped)
	}
}

// A device may lack any file; that is no reason to look for it every second.
func TestWhatIsLackingIsNotAskedFor(t *testing.T) {
	w := newWalk(t, baseTree) // of mlx5_1 there is only the state
	w.step(2)
	before := w.forest.reads
	w.step(1)
	if n := w.forest.reads - before; n != 8 {
		t.Errorf("%d readings a second, want 8", n)
	}
	if len(w.sweep.Dropped) != 0 {
		t.Errorf("dropped %v", w.sweep.Dropped)
	}
	if _, ok := w.last["nic:h1/mlx5_1 port_physical_state"]; ok {
		t.Error("it has a physical state")
	}
}

func TestReadingsKeepTheirDistance(t *testing.T) {
	t0 := time.Unix(100, 0)
	for _, c := range []struct{ late, want time.Duration }{
		{0, 1000 * time.Millisecond}, {200 * time.Millisecond, 1000 * time.Millisecond}, {400 * time.Millisecond, 1400 * time.Millisecond},
		{5 * time.Second, 6 * time.Second},
	} {
		if got := following(t0, t0.Add(c.late), time.Second).Sub(t0); got != c.want {
			t.Errorf("late by %s: the next is after %s, want %s", c.late, got, c.want)
		}
	}
}

// Sources of more series than one may have are cut into several.
func TestLargeSourcesAreCut(t *testing.T) {
	var b strings.Builder
	for d := range 30 {
		for i := range 400 {
			fmt.Fprintf(&b, "-- class/infiniband/hfi1_%d/ports/1/hw_counters/c%d --\n%d\n", d, i, d*1000+i)
		}
	}
	w := newWalk(t, b.String())
	w.step(1)
	if len(w.reader.plan.quick) != 2 {
		t.Errorf("%d sources", len(w.reader.plan.quick))
	}
	for d := range 30 {
		for i := range 400 {
			name := fmt.Sprintf("nic:h1/hfi1_%d hfi1_c%d", d, i)
			if w.last[name] != float64(d*1000+i) {
				t.Fatalf("%s is %v", name, w.last[name])
			}
		}
	}
}

func TestNoDeviceIsSaidPlainly(t *testing.T) {
	w := newWalk(t, baseTree)
	w.step(1)
	w.forest.cut("class/infiniband")
	w.forest.set("class/net/lo/mtu", "65536")
	w.step(3)
	if err := w.sweep.Err; err == nil || !strings.Contains(err.Error(), "no RDMA device: there is no class/infiniband") {
		t.Errorf("error %v", err)
	}
	if w.sweep.Read != 0 {
		t.Errorf("read %d", w.sweep.Read)
	}
}

// Bits that error correction corrected are compared with received bits: from one
// reading to the next, and not where nothing could be received or a driver has
// restarted.
func TestBitErrorsBeforeCorrection(t *testing.T) {
	dir := t.TempDir()
	w := newWalk(t, baseTree+"-- devices/0000:1a:00.0/net/eth2/mtu --\n9000\n")
	const series = "nic:h1/mlx5_0 port_pre_fec_ber"
	reads := func(mended, all string, want float64, is bool) {
		t.Helper()
		text := "NIC statistics:\n rx_corrected_bits_phy: " + mended + "\n rx_bits_phy: " + all + "\n"
		if err := os.WriteFile(filepath.Join(dir, "eth2.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if w.reader.stats == nil {
			w.reader.stats = ethtool.Recorded(dir)
			if err := w.reader.replan(); err != nil {
				t.Fatal(err)
			}
		}
		w.step(1)
		if got, there := w.last[series]; there != is || got != want || is && want > 0 && !w.fresh[series] {
			t.Errorf("%s of %s: %v (%v), want %v (%v)", mended, all, got, there, want, is)
		}
	}
	reads("1000", "400000000000", 0, false)
	reads("1400", "800000000000", 1e-9, true)
	reads("1400", "1200000000000", 0, true)
	for range stillFor { // as it was told
		reads("1400", "1200000000000", 0, true)
	}
	reads("1400", "1200000000000", -1, true) // no light
	reads("1401", "1600000000000", 2.5e-12, true)
	reads("3", "500000000000", -1, true) // begun anew
	reads("4000000003", "900000000000", 1e-2, true)
	reads("x", "1300000000000", -1, true)
	reads("4000000003", "1700000000000", -1, true) // nothing to hold it against
	reads("4000000403", "2100000000000", 1e-9, true)
}
