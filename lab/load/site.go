package load

import (
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Config describes how large a site is and how it behaves. A node has two sources
// (its NICs, its GPUs), a switch one.
type Config struct {
	Seed     uint64
	Nodes    int
	NICs     int // per node
	GPUs     int // per node
	Switches int
	Ports    int // per switch
	// Series per port, NIC and GPU.
	PortSeries, NICSeries, GPUSeries int
	// Noisy makes traffic uneven and lets pauses and marks come and go, as on a
	// busy site with nothing wrong.
	Noisy   bool
	Cadence telemetry.Duration // default 1 s
}

// Reference returns the reference site's lean set: 2,048 nodes of 8 NICs with
// 60 series and 8 GPUs with 40, 768 switches of 64 ports with 25: 2,867,200
// series in 4,864 sources.
func Reference(seed uint64) Config {
	return Config{Seed: seed, Nodes: 2048, NICs: 8, GPUs: 8, Switches: 768, Ports: 64, PortSeries: 25, NICSeries: 60, GPUSeries: 40}
}

// Part returns the reference site cut down to about so many series.
func Part(seed uint64, series int) Config {
	c := Reference(seed)
	c.Nodes = max(1, int(int64(c.Nodes)*int64(series)/int64(c.Series())))
	c.Switches = max(1, (series-c.Nodes*(c.NICs*c.NICSeries+c.GPUs*c.GPUSeries))/(c.Ports*c.PortSeries))
	return c
}

// Series returns how many series the site has.
func (c Config) Series() int {
	return c.Nodes*(c.NICs*c.NICSeries+c.GPUs*c.GPUSeries) + c.Switches*c.Ports*c.PortSeries
}

// Site makes frames.
type Site struct {
	cfg     Config
	sources []source
	enc     telemetry.Encoder
	frame   telemetry.Frame
}

// source is one source and what it sent last.
type source struct {
	schema   *telemetry.Schema
	words    []uint64
	models   []model // by column
	random   random
	sequence uint64
}

// New makes a site.
func New(cfg Config) (*Site, error) {
	if cfg.Cadence == 0 {
		cfg.Cadence = 1e9
	}
	s := &Site{cfg: cfg}
	cat := telemetry.DefaultCatalogue()
	ports, nics, gpus := columns(cat, telemetry.Port, cfg.PortSeries), columns(cat, telemetry.NIC, cfg.NICSeries), columns(cat, telemetry.GPU, cfg.GPUSeries)
	for i := range cfg.Switches {
		s.add("gnmi", fmt.Sprintf("sw%03d", i), "ports", cat, ports, entities(telemetry.Port, fmt.Sprintf("sw%03d/eth", i), cfg.Ports))
	}
	for i := range cfg.Nodes {
		node := fmt.Sprintf("n%04d", i)
		s.add("sysfs", node, "nics", cat, nics, entities(telemetry.NIC, node+"/mlx5_", cfg.NICs))
		s.add("dcgm", node, "gpus", cat, gpus, entities(telemetry.GPU, node+"/", cfg.GPUs))
	}
	for i := range s.sources {
		if err := s.sources[i].schema.Validate(); err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
	}
	return s, nil
}

func entities(kind telemetry.Kind, prefix string, n int) (es []telemetry.Entity) {
	for i := range n {
		es = append(es, telemetry.Entity{Kind: kind, Name: fmt.Sprint(prefix, i)})
	}
	return es
}

func (s *Site) add(collector, target, part string, cat *telemetry.Catalogue, cols []telemetry.Column, es []telemetry.Entity) {
	if len(cols) == 0 || len(es) == 0 {
		return
	}
	src := source{
		schema: &telemetry.Schema{Source: telemetry.Source{Collector: collector, Target: target, Part: part}, Cadence: s.cfg.Cadence, Entities: es, Columns: cols},
		random: random(s.cfg.Seed*0x9e3779b97f4a7c15 + uint64(len(s.sources)+1)*0xbf58476d1ce4e5b9),
	}
	for _, c := range cols {
		src.models = append(src.models, modelOf(cat, c.Metric, s.cfg.Noisy))
	}
	src.begin()
	s.sources = append(s.sources, src)
}

// first are the metrics that every port and NIC has; the others follow in the
// order of the catalogue's names.
func first() []telemetry.MetricName {
	return []telemetry.MetricName{
		"port_tx_bytes_total", "port_rx_bytes_total", "port_tx_packets_total", "port_rx_packets_total",
		"port_pfc_tx_pause_frames_total", "port_pfc_rx_pause_frames_total", "port_pfc_tx_pause_seconds_total", "port_pfc_rx_pause_seconds_total",
		"port_ecn_marked_packets_total", "port_queue_bytes", "port_queue_max_bytes", "port_up", "port_speed_bits_per_second",
		"port_tx_discards_total", "port_rx_discards_total", "port_link_downs_total", "port_symbol_errors_total", "port_rx_errors_total",
		"port_fec_uncorrectable_total", "port_pre_fec_ber", "optic_temperature_celsius", "port_pfc_watchdog_storms_total",
		"port_xmit_wait_seconds_total", "port_headroom_max_bytes", "port_fec_corrected_bits_total",
		"roce_cnp_sent_total", "roce_cnp_handled_total", "roce_ecn_marked_packets_total", "roce_out_of_sequence_total", "roce_packet_seq_errors_total",
		"roce_ack_timeouts_total", "nic_pcie_stalled_ratio",
	}
}

// columns returns n metrics of a kind. Where the catalogue has fewer, the rest
// are undeclared and so never judged.
func columns(cat *telemetry.Catalogue, kind telemetry.Kind, n int) (cols []telemetry.Column) {
	add := func(m *telemetry.Metric) {
		known := slices.ContainsFunc(cols, func(c telemetry.Column) bool { return c.Metric == m.Name })
		if len(cols) < n && !known && slices.Contains(m.Kinds, kind) {
			cols = append(cols, columnOf(m))
		}
	}
	for _, name := range first() {
		if m, ok := cat.Lookup(name); ok {
			add(m)
		}
	}
	all := cat.Metrics()
	for i := range all {
		if !all[i].PerStep {
			add(&all[i])
		}
	}
	for i := len(cols); i < n; i++ {
		cols = append(cols, telemetry.Column{Metric: telemetry.MetricName(fmt.Sprintf("%s_field_%d", kind, i)), Type: telemetry.Uint})
	}
	return cols
}

func columnOf(m *telemetry.Metric) telemetry.Column {
	c := telemetry.Column{Metric: m.Name, Type: telemetry.Uint}
	if m.Unit == "seconds" || m.Type == telemetry.Gauge && m.Unit != "bytes" {
		c.Type, c.Exp = telemetry.Decimal, 6
	}
	return c
}

// Sources returns how many sources there are.
func (s *Site) Sources() int { return len(s.sources) }

// Schema returns the schema of source i.
func (s *Site) Schema(i int) *telemetry.Schema { return s.sources[i].schema }

// AppendFrame lets source i go on by n cadences, the last of which ends at
// end, and appends the frame that states it.
func (s *Site) AppendFrame(dst []byte, i, n int, end telemetry.Time) ([]byte, error) {
	src := &s.sources[i]
	f := &s.frame
	f.Instants, f.Words = f.Instants[:0], f.Words[:0]
	f.Incarnation, f.Sequence = 1, src.sequence
	src.sequence++
	for k := range n {
		at := end.Add(-telemetry.Duration(n-1-k) * s.cfg.Cadence)
		src.advance()
		f.Instants = append(f.Instants, telemetry.Instant{Source: at, Received: at.Add(20e6)})
		f.Words = append(f.Words, src.words...)
	}
	return s.enc.AppendFrame(dst, src.schema, f)
}
