package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

// What a process takes when nothing happens: memory of its own (RssAnon) and
// its part of one core, of the real program, half a minute after its start.

// settleFor lets a process come to rest; watchFor is how long it is watched.
const (
	settleFor = 15 * time.Second
	watchFor  = 30 * time.Second
)

// BenchmarkIdleService is the whole service on a machine without a device.
func BenchmarkIdleService(b *testing.B) {
	for b.Loop() {
		s := newSite(b, 1)
		s.write("idle.yaml", "data: "+s.path("idle")+"\nlisten: \""+wiretest.FreeAddress(b)+"\"\ncollectors: {sysfs: [{path: "+s.path("nothing")+"}]}\n")
		if err := os.MkdirAll(s.path("nothing/class/net"), 0o700); err != nil {
			b.Fatal(err)
		}
		s.footprint(b, s.start("serve", "--config", s.path("idle.yaml")))
	}
}

// BenchmarkCollect is the collectors alone, of a host with eight ports of 51
// counters each, read every second and sent over TLS.
func BenchmarkCollect(b *testing.B) {
	for b.Loop() {
		s := newSite(b, 2)
		s.startStore()
		s.enrolled()
		writeTree(b, s.path("sys"), 8)
		s.write("collect.yaml", "data: "+s.path("host")+"\n"+s.elsewhere(s.log)+"collectors: {sysfs: [{path: "+s.path("sys")+"}]}\n")
		s.footprint(b, s.start("collect", "--config", s.path("collect.yaml")))
	}
}

// footprint reports what a process takes.
func (s *site) footprint(b *testing.B, p *process) {
	b.Helper()
	pause(s.ctx, settleFor)
	before := cpuTime(b, p)
	pause(s.ctx, watchFor)
	used := cpuTime(b, p) - before
	b.ReportMetric(anonymous(b, p), "RssAnon-MB")
	b.ReportMetric(100*used.Seconds()/watchFor.Seconds(), "%-of-a-core")
	b.ReportMetric(0, "ns/op")
	p.kill()
}

// anonymous is the result of anonymousOf.
func anonymous(b *testing.B, p *process) float64 {
	b.Helper()
	mb, err := anonymousOf(p)
	if err != nil {
		b.Fatal(err)
	}
	return mb
}

// anonymousOf is a process' memory of its own, in MB.
func anonymousOf(p *process) (float64, error) { return statusOf(p, "RssAnon") }

// statusOf is a field of /proc/PID/status, in MB of 10^6 bytes.
func statusOf(p *process, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kib) * 1024 / 1e6, err
		}
	}
	return 0, errors.New("no " + field)
}

// cpuTime is the user and system time of a process: fields 14 and 15 of
// /proc/PID/stat, in hundredths of a second (proc(5)).
func cpuTime(b *testing.B, p *process) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		b.Fatalf("stat: %s", text)
	}
	var ticks int
	for _, i := range []int{11, 12} {
		n, err := strconv.Atoi(f[i])
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// writeTree writes a sysfs tree of n mlx5 ports with 21 counters and 30
// hw_counters each.
func writeTree(b testing.TB, root string, n int) {
	b.Helper()
	counters := strings.Fields("symbol_error link_error_recovery link_downed port_rcv_errors port_rcv_remote_physical_errors port_rcv_switch_relay_errors " +
		"port_xmit_discards port_xmit_constraint_errors port_rcv_constraint_errors local_link_integrity_errors excessive_buffer_overrun_errors VL15_dropped " +
		"port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets unicast_xmit_packets unicast_rcv_packets multicast_xmit_packets multicast_rcv_packets port_xmit_wait")
	hw := strings.Fields("np_ecn_marked_roce_packets np_cnp_sent rp_cnp_handled rp_cnp_ignored out_of_sequence packet_seq_err local_ack_timeout_err rnr_nak_retry_err " +
		"implied_nak_seq_err duplicate_request out_of_buffer rx_icrc_encapsulated roce_adp_retrans roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps " +
		"roce_slow_restart_trans rx_write_requests rx_read_requests rx_atomic_requests rx_dct_connect resp_local_length_error resp_cqe_error resp_cqe_flush_error " +
		"resp_remote_access_errors req_cqe_error req_cqe_flush_error req_remote_invalid_request req_remote_access_errors lifespan")
	for i := range n {
		device := filepath.Join(root, "class", "infiniband", fmt.Sprintf("mlx5_%d", i))
		port := filepath.Join(device, "ports", "1")
		files := map[string]string{device + "/fw_ver": "28.41.1000", device + "/hca_type": "MT4129", device + "/node_type": "1: CA", port + "/state": "4: ACTIVE",
			port + "/phys_state": "5: LinkUp", port + "/rate": "400 Gb/sec (4X NDR)", port + "/link_layer": "Ethernet"}
		for k, name := range counters {
			files[port+"/counters/"+name] = strconv.Itoa(1000 * k)
		}
		for k, name := range hw {
			files[port+"/hw_counters/"+name] = strconv.Itoa(10 * k)
		}
		for path, text := range files {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
}
