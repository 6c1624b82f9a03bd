package jobs

import (
	"bytes"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// mostDumped is how many series the dumps of an entry may become.
const mostDumped = 1 << 14

// openDumps reads the text files that NCCL's inspector writes, one of each
// process.
func openDumps(c Config) source {
	b := book.New(book.Config{Collector: sourceName, Target: plain(c.Name), Cadence: c.Every, Limit: mostDumped})
	f := &files{cfg: c, last: map[string]fs.FileInfo{}, comeAndGo: true}
	f.take = func(r *report, _ string, text []byte) error {
		found, bad := readDump(text)
		r.drop(collectors.Malformed, bad)
		if found == nil && bad > 0 {
			return errForm
		}
		for _, x := range found {
			cell, ok := b.Cell(x.gpu, telemetry.Column{Metric: x.metric, Type: telemetry.Float})
			if !ok {
				r.drop(collectors.OverLimit, 1)
				continue
			}
			b.SetFloat(cell, x.value)
		}
		return r.emit(b, r.now)
	}
	return f
}

// dumped is one number of a dump.
type dumped struct {
	gpu    telemetry.Entity
	metric telemetry.MetricName
	value  float64
}

// readDump reads lines such as
//
//	nccl_bus_bandwidth_gbs{node="n1",gpu="GPU0",collective="AllReduce",…} 312.5
//
// and how many of them were invalid. Labels that distinguish two series of one GPU stay
// in the metric's name.
func readDump(text []byte) (out []dumped, bad int) {
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' {
			continue
		}
		if d, ok := readDumped(s); ok {
			out = append(out, d)
		} else {
			bad++
		}
	}
	return out, bad
}

func readDumped(s string) (dumped, bool) {
	name, rest, found := strings.Cut(s, "{")
	inner, value, shut := cutLast(rest, "}")
	fields := strings.Fields(value)
	if !found || !shut || len(fields) == 0 {
		return dumped{}, false
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || math.IsInf(v, 0) {
		return dumped{}, false
	}
	is := map[string]string{}
	for _, pair := range splitQuoted(inner) {
		k, w, ok := strings.Cut(pair, "=")
		if w, err = strconv.Unquote(strings.TrimSpace(w)); !ok || err != nil {
			return dumped{}, false
		}
		is[strings.TrimSpace(k)] = w
	}
	index, err := strconv.ParseUint(strings.TrimPrefix(is["gpu"], "GPU"), 10, 10)
	if err != nil || is["node"] == "" {
		return dumped{}, false
	}
	switch name {
	case "nccl_bus_bandwidth_gbs":
		name, v = "nccl_bus_bandwidth_bytes_per_second", v*1e9
	case "nccl_p2p_bus_bandwidth_gbs":
		name, v = "nccl_p2p_bus_bandwidth_bytes_per_second", v*1e9
	case "nccl_collective_exec_time_microseconds":
		name, v = "nccl_collective_seconds", v/1e6
	case "nccl_p2p_exec_time_microseconds":
		name, v = "nccl_p2p_seconds", v/1e6
	default:
		return dumped{}, false
	}
	var labels []string
	for _, k := range [...]string{"algo_proto", "collective", "comm_name", "message_size", "nranks", "p2p_operation"} {
		if is[k] != "" {
			labels = append(labels, k+"="+strconv.Quote(is[k]))
		}
	}
	metric := telemetry.MetricName(name + "{" + strings.Join(labels, ",") + "}")
	if len(metric) > telemetry.MaxMetricBytes {
		return dumped{}, false
	}
	return dumped{telemetry.Entity{Kind: telemetry.GPU, Name: telemetry.NamePart(is["node"]) + "/" + strconv.FormatUint(index, 10)}, metric, v}, true
}

// splitQuoted splits at commas outside quotes.
func splitQuoted(s string) []string {
	var out []string
	from, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}
