package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

// recordings is others' recordings of logs.
const recordings = "../../../shared/fixtures/xid/gpud"

// TestRecordings: the recordings of others produce the listed events, and every
// other line is counted as left out.
func TestRecordings(t *testing.T) {
	if _, err := os.Stat(recordings); err != nil {
		t.Skip("no recordings of others at hand: ", err)
	}
	for name, c := range map[string]struct {
		now     string
		skipped int
		events  []string
	}{
		"dmesg-with-xid-119.log": {"2025-02-23T17:00:00Z", 37, []string{
			"2025-02-23T16:24:18Z gpu:h1/4 xid 119, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4).",
			"2025-02-23T16:24:36Z gpu:h1/4 gpu_reset_needed NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:9b:00 (printing 1 of every 30).  The GPU likely needs to be reset.",
			"2025-02-23T16:24:30Z gpu:h1/4 xid 119, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 10 (FREE) (0xa55a0090 0x0). (2 more within 1m0s)",
			"2025-02-23T16:27:12Z gpu:h1/4 xid 119, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20801813 0x4c).",
			"2025-02-23T16:30:13Z gpu:h1/4 xid 119, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20803032 0x58c).",
		}},
		"dmesg-xid-13.decode.iso.log": {"2025-01-21T09:00:00Z", 4, []string{
			"2025-01-21T04:41:44.283302Z node:h1 xid 13, Graphics SM Global Exception on (GPC 8, TPC 5, SM 1): Multiple Warp Errors (PCI 0000:38:00)",
			"2025-01-21T04:41:44.287197Z node:h1 xid 43, Ch 00000008 (PCI 0000:38:00)",
			"2025-01-21T08:43:30.287197Z node:h1 oom_kill Out of memory: httpd",
			"2025-01-21T08:44:30.287197Z node:h1 oom_kill Out of memory: python",
			"2025-01-21T08:45:30.287197Z node:h1 oom_kill Out of memory: httpd",
			"2025-01-21T04:41:44.285147Z node:h1 xid 13, Graphics Exception: ESR 0x556730=0x117000e 0x556734=0x24 0x556728=0xf81eb60 0x55672c=0x1174 (PCI 0000:38:00) (15 more within 1m0s)",
		}},
		"dmesg-nccl-segfault.decode.iso.log": {"2025-01-21T09:00:00Z", 0, []string{
			"2025-01-21T04:41:44.28506Z node:h1 process_crashed pt_main_thread: segfault in libnccl.so.2",
			"2025-01-21T04:42:44.28506Z node:h1 process_crashed pt_main_thread: segfault in libnccl.so.2",
		}},
		"fabricmanager.log": {"2025-02-27T16:00:00Z", 100, []string{
			"2025-02-27T15:10:02Z nvswitch:h1/3 nvswitch_error 12028, non-fatal port 61",
		}},
		"kmsg.1.log":                    {"2025-02-27T16:00:00Z", 47, nil},
		"lspci.nn.a100":                 {"2025-02-27T16:00:00Z", 31, nil},  // no log, and read as a table below
		"nvidia-smi.nvlink.status.a100": {"2025-02-27T16:00:00Z", 104, nil}, // no log: its reader is another
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			cfg := sampleConfig()
			cfg.Files = []File{{Path: filepath.Join(recordings, name)}}
			if name == "kmsg.1.log" {
				cfg.Files, cfg.Kernel = nil, File{Path: cfg.Files[0].Path, Boot: now.Add(-17 * time.Hour)}
			}
			cfg.Since = oldest
			r := stands(t, cfg, now)
			seen := read(t, r)
			equal(t, "events", dated(seen), c.events)
			if got := seen.Dropped[collectors.Skipped]; got != c.skipped {
				t.Errorf("%d lines skipped, want %d", got, c.skipped)
			}
			for reason, n := range seen.Dropped {
				// the fabric manager's first days are older than the lines that are
				// reported
				if reason != collectors.Skipped && n > 0 {
					t.Errorf("dropped %d as %s", n, reason)
				}
			}
		})
	}
}

// read reads everything twice, so that a last line without its end is read too.
func read(t *testing.T, c *Collector) tape {
	t.Helper()
	out := newTape(t)
	r := c.newReader(t.Context(), out)
	r.pollAll()
	now := c.clock()
	c.clock = func() time.Time { return now.Add(unfinished) }
	r.pollAll()
	r.next = now
	r.stateDue()
	r.finish()
	r.close()
	return out
}

func dated(s tape) []string {
	var out []string
	for _, e := range s.Events {
		out = append(out, fmt.Sprintf("%s %s %s %s", e.At, e.Entity, e.Name, e.Text))
	}
	return out
}

// TestGPUsAreNumberedByAddress: from lspci's list of others.
func TestGPUsAreNumberedByAddress(t *testing.T) {
	file := filepath.Join(recordings, "lspci.nn.a100")
	if _, err := os.Stat(file); err != nil {
		t.Skip("no recordings of others at hand: ", err)
	}
	got := learnGPUs(file)
	var list []string
	for a, n := range got {
		list = append(list, n+" "+a)
	}
	slices.Sort(list)
	want := "0 0001:00:00.0, 1 0002:00:00.0, 2 0003:00:00.0, 3 0004:00:00.0, 4 000b:00:00.0, 5 000c:00:00.0, 6 000d:00:00.0, 7 000e:00:00.0"
	if strings.Join(list, ", ") != want {
		t.Error(list)
	}
}
