package telemetry

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// recording is what one source stated, one row of words for each instant, for
// the benchmarks.
type recording struct {
	schema *Schema
	times  []Time
	rows   [][]uint64
}

// frames cuts the recording into frames of n instants; what is left over at its
// end is left out.
func (r *recording) frames(n int) []*Frame {
	var fs []*Frame
	for k := 0; k+n <= len(r.rows); k += n {
		f := &Frame{Fingerprint: r.schema.Fingerprint(), Incarnation: 1764000000, Sequence: uint64(len(fs) + 1)}
		for i := k; i < k+n; i++ {
			f.Instants = append(f.Instants, Instant{Source: r.times[i]})
			f.Words = append(f.Words, r.rows[i]...)
		}
		fs = append(fs, f)
	}
	return fs
}

// changed returns which share of the words differs from the instant before.
func (r *recording) changed() float64 {
	n := 0
	for k := 1; k < len(r.rows); k++ {
		for i, w := range r.rows[k] {
			if w != r.rows[k-1][i] {
				n++
			}
		}
	}
	return float64(n) / float64((len(r.rows)-1)*r.schema.Len())
}

// counterModel is one column of a made-up device: how large the counter is when
// the recording begins and by how much it grows in an instant in which it grows.
type counterModel struct {
	name     MetricName
	start    uint64  // its usual size after some days of work
	step     uint64  // its usual growth a second
	active   float64 // share of busy instants in which it grows
	idle     float64 // share of quiet instants in which it grows
	sometime float64 // share of entities for which it is not always zero
}

// made makes a recording of a device: every entity is busy and quiet in turns
// of some seconds, as collectives are, and its counters grow with it.
func made(entities []Entity, models []counterModel, instants int) *recording {
	rng := rand.New(rand.NewPCG(64, uint64(len(models))))
	r := &recording{schema: &Schema{Source: Source{"gnmi", "made", "counters"}, Cadence: 1e9, Entities: entities}}
	n := len(entities)
	row, grows, busy := make([]uint64, n*len(models)), make([]bool, n*len(models)), make([]bool, n)
	for c, m := range models {
		r.schema.Columns = append(r.schema.Columns, Column{Metric: m.name, Type: Uint})
		for e := range n {
			i := c*n + e
			if grows[i] = rng.Float64() < m.sometime; grows[i] {
				row[i] = spread(rng, m.start)
			}
		}
	}
	for k := range instants {
		r.times = append(r.times, Time(1764000000e9)+Time(k)*1e9+Time(rng.Int64N(3e6)))
		for e := range n {
			if rng.UintN(4) == 0 {
				busy[e] = !busy[e]
			}
		}
		for c, m := range models {
			for e := range n {
				p := m.idle
				if busy[e] {
					p = m.active
				}
				if i := c*n + e; grows[i] && rng.Float64() < p {
					row[i] += spread(rng, m.step)
				}
			}
		}
		r.rows = append(r.rows, slices.Clone(row))
	}
	return r
}

// spread draws a number within a factor of four of v, below rather than above.
func spread(rng *rand.Rand, v uint64) uint64 { return v/4 + rng.Uint64N(v+1) }

// switchRecording is a switch of 64 ports with 25 counters each.
func switchRecording(instants int) *recording {
	var ports []Entity
	for p := range 64 {
		ports = append(ports, Entity{Port, fmt.Sprintf("leaf12/Ethernet%d%%2F1", p)})
	}
	models := []counterModel{
		{"port_tx_bytes_total", 4e15, 3e10, 1, .6, 1}, {"port_rx_bytes_total", 4e15, 3e10, 1, .6, 1},
		{"port_tx_packets_total", 2e12, 1e7, 1, .6, 1}, {"port_rx_packets_total", 2e12, 1e7, 1, .6, 1},
		{"port_pfc_tx_pause_frames_total", 1e7, 2000, .4, 0, .7}, {"port_pfc_rx_pause_frames_total", 1e7, 2000, .4, 0, .7},
		{"port_pfc_tx_pause_seconds_total", 1e9, 30000, .4, 0, .7}, {"port_pfc_rx_pause_seconds_total", 1e9, 30000, .4, 0, .7},
		{"port_ecn_marked_packets_total", 3e8, 20000, .6, .05, .9}, {"port_xmit_wait_seconds_total", 1e9, 40000, .8, .05, 1},
	}
	for _, name := range []MetricName{"port_tx_multicast_packets_total", "port_rx_multicast_packets_total", "port_tx_broadcast_packets_total", "port_rx_broadcast_packets_total"} {
		models = append(models, counterModel{name, 1e6, 2, .1, .1, 1})
	}
	for _, name := range []MetricName{"port_tx_discards_total", "port_rx_discards_total", "port_fec_corrected_bits_total"} {
		models = append(models, counterModel{name, 20000, 50, .03, .01, .5})
	}
	for _, name := range []MetricName{"port_pfc_watchdog_storms_total", "port_link_downs_total", "port_symbol_errors_total", "port_rx_errors_total",
		"port_fec_uncorrectable_total", "port_rx_crc_errors_total", "port_link_recoveries_total", "port_rx_buffer_discards_total"} {
		models = append(models, counterModel{name, 10, 1, .0005, .0005, .2})
	}
	return made(ports, models, instants)
}

// hostRecording is a host of 8 NICs with 60 counters each: those of the device,
// those of eight priorities of which one carries the work and two a little, and
// a good half that hardly ever moves.
func hostRecording(instants int) *recording {
	var nics []Entity
	for n := range 8 {
		nics = append(nics, Entity{NIC, fmt.Sprintf("n0417/mlx5_%d", n)})
	}
	models := []counterModel{
		{"port_tx_bytes_total", 4e15, 2e10, 1, .5, 1}, {"port_rx_bytes_total", 4e15, 2e10, 1, .5, 1},
		{"port_tx_packets_total", 1e12, 5e6, 1, .5, 1}, {"port_rx_packets_total", 1e12, 5e6, 1, .5, 1},
		{"rdma_tx_bytes_total", 4e15, 2e10, 1, .1, 1}, {"rdma_rx_bytes_total", 4e15, 2e10, 1, .1, 1},
		{"rdma_tx_packets_total", 1e12, 5e6, 1, .1, 1}, {"rdma_rx_packets_total", 1e12, 5e6, 1, .1, 1},
		{"prio3_tx_bytes_total", 4e15, 2e10, 1, .1, 1}, {"prio3_rx_bytes_total", 4e15, 2e10, 1, .1, 1},
		{"prio3_tx_packets_total", 1e12, 5e6, 1, .1, 1}, {"prio3_rx_packets_total", 1e12, 5e6, 1, .1, 1},
		{"roce_ecn_marked_packets_total", 2e8, 20000, .6, 0, 1}, {"roce_cnp_sent_total", 5e7, 2000, .6, 0, 1}, {"roce_cnp_handled_total", 5e7, 2000, .6, 0, 1},
		{"port_pfc_tx_pause_frames_total", 1e6, 1000, .1, 0, .5}, {"port_pfc_rx_pause_frames_total", 1e7, 2000, .2, 0, 1},
		{"port_pfc_tx_pause_seconds_total", 1e8, 30000, .1, 0, .5}, {"port_pfc_rx_pause_seconds_total", 1e9, 30000, .2, 0, 1},
		{"roce_rx_write_requests_total", 2e9, 50000, 1, 0, 1},
		{"prio0_tx_bytes_total", 1e13, 1e6, .6, .6, 1}, {"prio0_rx_bytes_total", 1e13, 1e6, .6, .6, 1},
		{"prio6_tx_packets_total", 5e7, 2000, .6, .3, 1}, {"prio6_rx_packets_total", 5e7, 2000, .6, .3, 1},
	}
	for i := len(models); i < 60; i++ {
		models = append(models, counterModel{MetricName(fmt.Sprintf("roce_quiet_%d_total", i)), 100, 1, .001, .001, .25})
	}
	return made(nics, models, instants)
}

// roceRecordings reads the counters of the recorded RoCE runs. Entities of one
// kind that were read at the same instants are one source.
func roceRecordings(tb testing.TB) []*recording {
	var rs []*recording
	for _, run := range roceRuns() {
		f, err := os.Open(run)
		if err != nil {
			tb.Fatal(err)
		}
		rs = append(rs, readRun(tb, f)...)
		f.Close()
	}
	return rs
}

// roceRuns returns the samples of one run of each sort, beside the module where
// they are all, else in it.
func roceRuns() (runs []string) {
	for _, dir := range []string{"../../shared/traces/roce", "../testdata/roce"} {
		for _, run := range []string{"busyhealthy-3", "incast-4", "ecmp-5", "slownic-2", "storm-7", "healthy-2", "ctlcompute-3"} {
			if p := filepath.Join(dir, run, "samples.csv.gz"); exists(p) {
				runs = append(runs, p)
			}
		}
		if len(runs) > 0 {
			break
		}
	}
	return runs
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// readRun reads the counters of one samples.csv.gz.
func readRun(tb testing.TB, r io.Reader) []*recording {
	z, err := gzip.NewReader(r)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	samples := map[Entity]map[Time]map[MetricName]uint64{}
	for line := range bytes.Lines(text) {
		f := strings.Split(strings.TrimSpace(string(line)), ",")
		if len(f) != 4 || !strings.HasSuffix(f[2], "_total") || f[3] == "" {
			continue
		}
		at, _ := strconv.ParseInt(f[0], 10, 64)
		e, err := ParseEntity(f[1])
		if err != nil {
			tb.Fatal(err)
		}
		v, err := strconv.ParseUint(strings.Replace(f[3], ".", "", 1), 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		if samples[e] == nil {
			samples[e] = map[Time]map[MetricName]uint64{}
		}
		if samples[e][Time(at)] == nil {
			samples[e][Time(at)] = map[MetricName]uint64{}
		}
		samples[e][Time(at)][MetricName(f[2])] = v
	}
	return sources(samples)
}

// sources groups entities of one kind that were read at the same instants.
func sources(samples map[Entity]map[Time]map[MetricName]uint64) []*recording {
	groups := map[string][]Entity{}
	for e, at := range samples {
		key := fmt.Sprint(e.Kind, sortedKeys(at))
		groups[key] = append(groups[key], e)
	}
	var rs []*recording
	for _, key := range sortedKeys(groups) {
		es := groups[key]
		slices.SortFunc(es, Entity.Compare)
		r := &recording{schema: &Schema{Source: Source{"import", es[0].Name, "counters"}, Cadence: 1e9, Entities: es}, times: sortedKeys(samples[es[0]])}
		for _, m := range sortedKeys(samples[es[0]][r.times[0]]) {
			c := Column{Metric: m, Type: Uint}
			if strings.Contains(string(m), "_seconds") {
				c = Column{Metric: m, Type: Decimal, Exp: 6}
			}
			r.schema.Columns = append(r.schema.Columns, c)
		}
		for _, t := range r.times {
			row := make([]uint64, 0, r.schema.Len())
			for _, c := range r.schema.Columns {
				for _, e := range es {
					row = append(row, samples[e][t][c.Metric])
				}
			}
			r.rows = append(r.rows, row)
		}
		rs = append(rs, r)
	}
	return rs
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// The made-up recordings are what they are said to be: monotone, bursty, four
// fifths unchanged.
func TestMadeRecordings(t *testing.T) {
	for name, r := range map[string]*recording{"switch": switchRecording(200), "host": hostRecording(200)} {
		if c := r.changed(); c < .18 || c > .22 {
			t.Errorf("%s: %.3f of the words change, want a fifth", name, c)
		}
		for k := 1; k < len(r.rows); k++ {
			for i := range r.rows[k] {
				if r.rows[k][i] < r.rows[k-1][i] {
					t.Fatalf("%s: %s falls", name, r.schema.Series(i))
				}
			}
		}
	}
	if n := switchRecording(2).schema.Len(); n != 64*25 {
		t.Errorf("switch has %d series", n)
	}
	if n := hostRecording(2).schema.Len(); n != 8*60 {
		t.Errorf("host has %d series", n)
	}
}
