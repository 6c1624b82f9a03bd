package sysfs

import (
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// meaning defines what a number becomes.
type meaning struct {
	metric telemetry.MetricName
	scale  uint64 // the word is the number times this
	exp    uint8  // of a Decimal column; 0 is a Uint column
	join   join   // with others that become the same series
	rank   uint8  // of several with the same meaning, the highest is read
}

// join defines how numbers that become one series go together.
type join uint8

const (
	alone join = iota // they are the same: one is enough
	added             // lanes
	worst             // directions of one bus: the larger counts
	least             // what takes both: the smaller counts
)

// column is the schema column of a meaning.
func (m meaning) column() telemetry.Column {
	if m.exp > 0 {
		return telemetry.Column{Metric: m.metric, Type: telemetry.Decimal, Exp: m.exp}
	}
	return telemetry.Column{Metric: m.metric, Type: telemetry.Uint}
}

// transport is how a port carries RDMA.
type transport string

const (
	infiniband transport = "infiniband"
	roce       transport = "roce"
	iwarp      transport = "iwarp"
	efa        transport = "efa"
	usnic      transport = "usnic"
	unknown    transport = "unknown"
)

// The parts of a port's folder that hold counters.
const (
	countersDir    = "counters"
	countersExtDir = "counters_ext"
	hardwareDir    = "hw_counters"
)

// Ranks, lowest first. Where ethtool's counter is the wider one it wins.
const (
	rankOptional uint8 = iota + 1
	rankDevice
	rankPort
	rankNarrow
	rankPMA
	rankWide
)

// vocabulary is every name that is known, made once for a collector.
type vocabulary struct {
	managed  map[string][]managed                       // files of counters/
	extended map[string]string                          // files of counters_ext/, and their names in counters/
	hardware map[string]map[string]telemetry.MetricName // by driver and file
	strings  []pattern                                  // of ethtool
}

// managed is one thing that a file of performance management becomes.
type managed struct {
	metric telemetry.MetricName
	scale  uint64
	only   string // "wire": on InfiniBand; "rdma": elsewhere
}

func newVocabulary() *vocabulary {
	v := &vocabulary{
		managed:  map[string][]managed{},
		extended: map[string]string{},
		hardware: map[string]map[string]telemetry.MetricName{},
		strings:  patterns(),
	}
	for line := range strings.Lines(managedFiles) {
		if f := append(strings.Fields(line), ""); len(f) >= 4 {
			m := managed{metric: telemetry.MetricName(f[1]), scale: 1, only: f[3]}
			if f[2] == "words" {
				m.scale = bytesPerWord
			}
			v.managed[f[0]] = append(v.managed[f[0]], m)
		}
	}
	for line := range strings.Lines(extendedFiles) {
		if f := strings.Fields(line); len(f) == 2 {
			v.extended[f[0]] = f[1]
		}
	}
	driver := ""
	for line := range strings.Lines(hardwareFiles) {
		f := strings.Fields(line)
		switch len(f) {
		case 1:
			driver = f[0]
			v.hardware[driver] = map[string]telemetry.MetricName{}
		case 2:
			v.hardware[driver][f[0]] = telemetry.MetricName(f[1])
		}
	}
	v.hardware["i40iw"] = v.hardware["irdma"]
	return v
}

// pma returns what a file of counters/ or counters_ext/ becomes. On InfiniBand
// the data counters are all that is on the wire, hence both wire and RDMA; on
// Ethernet a PMA counts RDMA alone.
func (v *vocabulary) pma(dir, file string, t transport) []meaning {
	rank := rankNarrow
	if dir == countersExtDir {
		rank = rankPMA
		plain, ok := v.extended[file]
		if !ok {
			return nil
		}
		file = plain
	}
	var out []meaning
	for _, f := range v.managed[file] {
		if f.only == "" || (f.only == "wire") == (t == infiniband) {
			out = append(out, meaning{metric: f.metric, scale: f.scale, rank: rank})
		}
	}
	return out
}

// hardwareFile returns what a file of hw_counters/ becomes. Older kernels put
// "iw" before irdma's names, and mlx5 in switchdev mode "vport_" before its own.
func (v *vocabulary) hardwareFile(driver, file string, device bool) []meaning {
	rank := rankPort
	if device {
		rank = rankDevice
	}
	if file == lifespanFile {
		return []meaning{{metric: "roce_counter_lifespan_seconds", scale: 1, exp: 3, rank: rank}}
	}
	files := v.hardware[driver]
	metric, ok := files[file]
	if !ok {
		if name, cut := strings.CutPrefix(file, "iw"); cut {
			metric, ok = files[name]
		}
		if name, cut := strings.CutPrefix(file, "vport_"); cut {
			metric, ok = files[name]
			rank = rankOptional
		}
	}
	if !ok {
		return nil
	}
	return []meaning{{metric: metric, scale: 1, rank: rank}}
}

// bytesPerWord: data counters count four bytes as one.
const bytesPerWord = 4

// lifespanFile contains for how many milliseconds hw_counters repeat themselves.
const lifespanFile = "lifespan"

// foreign returns the meaning of an unknown file: a metric named after its driver
// and itself.
func foreign(driver, file string) meaning {
	return meaning{metric: telemetry.MetricName(safe(driver) + "_" + safe(file)), scale: 1, rank: rankPort}
}

// safe makes a name out of any text: every character other than a letter or a digit
// becomes '_'. Several texts may become the same name; the caller distinguishes
// them.
func safe(s string) string {
	if s == "" {
		return "_"
	}
	b := []byte(s)
	for i, c := range b {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	return string(b[:min(len(b), maxSafe)])
}

// maxSafe bounds such a name.
const maxSafe = 128
