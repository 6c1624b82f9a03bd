package host

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// lossless is the priority of RDMA traffic, as sites commonly set it.
const lossless = "3"

// shown is where a metric shows: a file or a statistic, and what the metric is
// multiplied by to be what the file contains.
type shown struct {
	metric telemetry.MetricName
	name   string
	times  float64
}

// hardware is what mlx5 counts of RDMA in hw_counters/.
var hardware = []shown{
	{"roce_cnp_sent_total", "np_cnp_sent", 1},
	{"roce_cnp_handled_total", "rp_cnp_handled", 1},
	{"roce_cnp_ignored_total", "rp_cnp_ignored", 1},
	{"roce_ecn_marked_packets_total", "np_ecn_marked_roce_packets", 1},
	{"roce_out_of_sequence_total", "out_of_sequence", 1},
	{"roce_packet_seq_errors_total", "packet_seq_err", 1},
	{"roce_ack_timeouts_total", "local_ack_timeout_err", 1},
}

// managed is what an InfiniBand port counts in counters/: bytes are 4-byte words.
var managed = []shown{
	{"port_tx_bytes_total", "port_xmit_data", 0.25},
	{"port_rx_bytes_total", "port_rcv_data", 0.25},
	{"port_tx_packets_total", "port_xmit_packets", 1},
	{"port_rx_packets_total", "port_rcv_packets", 1},
	{"port_xmit_wait_ticks_total", "port_xmit_wait", 1},
	{"port_rx_errors_total", "port_rcv_errors", 1},
	{"port_tx_discards_total", "port_xmit_discards", 1},
	{"port_link_downs_total", "link_downed", 1},
}

// narrow is what a RoCE port shows in counters/ in addition to ethtool: RDMA alone.
var narrow = []shown{
	{"rdma_tx_bytes_total", "port_xmit_data", 0.25},
	{"rdma_rx_bytes_total", "port_rcv_data", 0.25},
	{"port_rx_errors_total", "port_rcv_errors", 1},
	{"port_link_downs_total", "link_downed", 1},
}

// statistics is what mlx5 prints by ethtool -S.
var statistics = []shown{
	{"port_rx_packets_total", "rx_packets_phy", 1},
	{"port_tx_packets_total", "tx_packets_phy", 1},
	{"port_rx_bytes_total", "rx_bytes_phy", 1},
	{"port_tx_bytes_total", "tx_bytes_phy", 1},
	{"port_rx_crc_errors_total", "rx_crc_errors_phy", 1},
	{"port_fec_corrected_bits_total", "rx_corrected_bits_phy", 1},
	{"port_tx_discards_total", "tx_discards_phy", 1},
	{"port_link_downs_total", "link_down_events_phy", 1},
	{"nic_pcie_stalled_ratio", "outbound_pci_stalled_rd", 100},
	{"nic_pcie_stalled_ratio", "outbound_pci_stalled_wr", 0},
	{"port_pfc_rx_pause_frames_total", "rx_prio" + lossless + "_pause", 1},
	{"port_pfc_rx_pause_seconds_total", "rx_prio" + lossless + "_pause_duration", 1e6},
	{"port_pfc_tx_pause_frames_total", "tx_prio" + lossless + "_pause", 1},
	{"port_pfc_tx_pause_seconds_total", "tx_prio" + lossless + "_pause_duration", 1e6},
}

// overIP is what the interface for IP over InfiniBand prints of its adapter: the
// wire is in counters/.
var overIP = []shown{
	{"port_fec_corrected_bits_total", "rx_corrected_bits_phy", 1},
	{"nic_pcie_stalled_ratio", "outbound_pci_stalled_rd", 100},
	{"nic_pcie_stalled_ratio", "outbound_pci_stalled_wr", 0},
}

// write brings every file up to date.
func (f *Fleet) write() error {
	for _, a := range f.adapters {
		if node, _ := f.board.Outside(a.entity); f.board.Off(node) {
			if err := f.clear(a); err != nil {
				return fmt.Errorf("host: %s: %w", a.entity, err)
			}
			continue
		}
		for _, write := range []func(*adapter) error{f.state, f.counters, f.slot, f.statistics} {
			if err := write(a); err != nil {
				return fmt.Errorf("host: %s: %w", a.entity, err)
			}
		}
	}
	return nil
}

// clear leaves nothing to read in an adapter's files: its host does not run.
func (f *Fleet) clear(a *adapter) error {
	for path := range f.written {
		_, fixed := a.fixed[path]
		if fixed || !strings.HasPrefix(path, a.port) && !strings.HasPrefix(path, a.net) && path != a.stats {
			continue
		}
		if err := f.put(path, ""); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) read(a *adapter, m telemetry.MetricName) (board.Reading, bool) {
	r, ok := f.board.Read(a.entity, m)
	return r, ok && !r.Gap
}

// state writes what the port reports about its link.
func (f *Fleet) state(a *adapter) error {
	state, physical, carrier := "4: ACTIVE", "5: LinkUp", "up"
	if r, ok := f.read(a, "port_up"); ok && r.Float() < 0.5 {
		state, physical, carrier = "1: DOWN", "3: Disabled", "down"
	}
	texts := map[string]string{filepath.Join(a.port, "state"): state, filepath.Join(a.port, "phys_state"): physical}
	if r, ok := f.read(a, "port_speed_bits_per_second"); ok {
		texts[filepath.Join(a.port, "rate")] = rate(r.Float())
		texts[filepath.Join(a.net, "speed")] = strconv.Itoa(int(r.Float() / 1e6))
	}
	texts[filepath.Join(a.net, "operstate")] = carrier
	for path, text := range texts {
		if err := f.put(path, text); err != nil {
			return err
		}
	}
	return nil
}

// rate is how the kernel writes a speed in bits per second: four lanes.
func rate(bits float64) string {
	g := bits / 1e9
	lane := "NDR"
	switch {
	case g >= 790:
		lane = "XDR"
	case g < 150:
		lane = "EDR"
	case g < 250:
		lane = "HDR"
	}
	return fmt.Sprintf("%g Gb/sec (4X %s)", g, lane)
}

func (f *Fleet) counters(a *adapter) error {
	tables := map[string][]shown{"counters": managed, "hw_counters": hardware}
	if a.narrow {
		tables["counters"] = narrow
	}
	for folder, table := range tables {
		for _, s := range table {
			r, ok := f.read(a, s.metric)
			if !ok {
				continue
			}
			if err := f.put(filepath.Join(a.port, folder, s.name), count(r, s.times)); err != nil {
				return err
			}
		}
	}
	return nil
}

// count writes a counter whole; a number of words is exact.
func count(r board.Reading, times float64) string {
	switch times {
	case 1:
		return strconv.FormatUint(r.Uint(), 10)
	case 0.25:
		return strconv.FormatUint(r.Uint()/4, 10)
	}
	return strconv.FormatUint(uint64(math.Round(r.Float()*times)), 10)
}

// sensors is the folder of an adapter's sensors.
func (a *adapter) sensors() string { return filepath.Join(a.bus, "hwmon", "hwmon0") }

// slot writes what the PCI function reports about its slot, and of the module in its
// cage.
func (f *Fleet) slot(a *adapter) error {
	if r, ok := f.read(a, "optic_temperature_celsius"); ok {
		if err := f.put(filepath.Join(a.sensors(), "temp2_input"), count(r, 1000)); err != nil {
			return err
		}
	}
	if r, ok := f.read(a, "pcie_link_width"); ok {
		if err := f.put(filepath.Join(a.bus, "current_link_width"), strconv.FormatUint(r.Uint(), 10)); err != nil {
			return err
		}
	}
	if r, ok := f.read(a, "pcie_link_speed_transfers_per_second"); ok {
		return f.put(filepath.Join(a.bus, "current_link_speed"), fmt.Sprintf("%.1f GT/s PCIe", r.Float()/1e9))
	}
	return nil
}

// line is what could have come over a port's line: while it is up, as much as it
// ever carried in the time, a bit at a time.
type line struct {
	bits  uint64
	speed float64 // the most, bits per second
	until telemetry.Time
}

// pass lets the time until now pass.
func (l *line) pass(now telemetry.Time, speed float64, up bool) {
	l.speed = max(l.speed, speed)
	if up && l.until > 0 && now > l.until {
		l.bits += uint64(l.speed * now.Sub(l.until).Seconds())
	}
	l.until = now
}

// statistics writes what ethtool -S would print.
func (f *Fleet) statistics(a *adapter) error {
	speed, _ := f.read(a, "port_speed_bits_per_second")
	up, reported := f.read(a, "port_up")
	a.line.pass(f.board.Now(), speed.Float(), !reported || up.Float() >= 0.5)
	var b strings.Builder
	b.WriteString("NIC statistics:\n")
	for _, s := range a.shows {
		if r, ok := f.read(a, s.metric); ok {
			fmt.Fprintf(&b, "     %s: %s\n", s.name, count(r, s.times))
		}
	}
	fmt.Fprintf(&b, "     rx_bits_phy: %d\n", a.line.bits)
	return f.put(a.stats, strings.TrimSuffix(b.String(), "\n"))
}
