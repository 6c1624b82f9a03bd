package mapping

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unmappedCounters are named by dcgm-exporter's counter files and by no mapping:
// such a series is carried under its own name, stored and shown, never judged. Each
// has its reason; a star matches the rest of a name.
var unmappedCounters = map[string]string{
	"DCGM_FI_DEV_MEM_COPY_UTIL":          "how long a copy ran, not how much: DRAM_ACTIVE says that",
	"dcgm_mem_copy_utilization":          "how long a copy ran, not how much",
	"DCGM_FI_DEV_ENC_UTIL":               "the video encoder takes no part in training or serving",
	"dcgm_enc_utilization":               "the video encoder takes no part in training or serving",
	"DCGM_FI_DEV_DEC_UTIL":               "the video decoder: as the encoder",
	"dcgm_dec_utilization":               "the video decoder: as the encoder",
	"DCGM_FI_DEV_FB_FREE":                "what is left of a constant beside what is used",
	"dcgm_fb_free":                       "what is left of a constant beside what is used",
	"DCGM_FI_DEV_FB_RESERVED":            "a constant of the driver",
	"DCGM_FI_DEV_NVLINK_BANDWIDTH_*":     "the unit changes with the driver (MB/s of a window; a total in KiB): NVLINK_COUNT_TX_BYTES counts",
	"dcgm_nvlink_bandwidth_total":        "the unit changes with the driver",
	"dcgm_nvlink_*_error_count_total":    "1.x: its label is the lane's, and no page of it was at hand",
	"DCGM_FI_DEV_VGPU_LICENSE_STATUS":    "a licence",
	"DCGM_FI_DEV_CORRECTABLE_REMAPPED_*": "rows remapped before they failed hurt nothing; uncorrectable ones are mapped",
	"DCGM_FI_DEV_ROW_REMAP_FAILURE":      "the kernel's XID 64 says the same, with its time",
	"DCGM_FI_DEV_*_VIOLATION":            "sync boost, board limit, low use, reliability: clock event reasons tell them",
	"dcgm_*_violation":                   "1.x: the file says microseconds, DCGM nanoseconds: nobody knows which a page has",
	"DCGM_FI_DEV_ECC_*_AGG_TOTAL":        "of the board's life; the volatile counters say when",
	"dcgm_ecc_*_aggregate_total":         "of the board's life; the volatile counters say when",
	"DCGM_FI_DEV_RETIRED_*":              "retired pages: boards before Ampere; the XID says when",
	"dcgm_retired_pages_*":               "retired pages: boards before Ampere; the XID says when",
	"DCGM_EXP_*":                         "counts of a window that go down again",
	"DCGM_FI_PROF_PIPE_FP*_ACTIVE":       "beside the tensor pipe they tell nothing of training",
}

// TestCounterFiles: every counter that dcgm-exporter's own files name, those that
// are commented out included, is mapped or left out with a reason.
func TestCounterFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "fixtures", "dcgm", "dcgm-exporter", "*.csv"))
	if err != nil || len(files) == 0 {
		t.Skip("the recordings of others are not here")
	}
	f, err := Shipped("dcgm")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMapper(f)
	used := map[string]bool{}
	mapped := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name := counterOf(line)
			switch why := reasonFor(name); {
			case name == "":
			case understood(m, name) && why != "":
				t.Errorf("%s: %s is mapped, and left out as %q", filepath.Base(path), name, unmappedCounters[why])
			case understood(m, name):
				mapped++
			case why == "":
				t.Errorf("%s: %s is neither mapped nor left out with a reason", filepath.Base(path), name)
			default:
				used[why] = true
			}
		}
	}
	if mapped < 50 {
		t.Errorf("%d are mapped: were the files read?", mapped)
	}
	for pattern := range unmappedCounters {
		if !used[pattern] {
			t.Errorf("%s is left out, and no file names it", pattern)
		}
	}
}

// understood reports whether a rule names a series, and not only to refuse it.
func understood(m *Mapper, name string) bool {
	return slices.ContainsFunc(m.exact[name], func(k known) bool { return k.rule.refuse == "" }) ||
		slices.ContainsFunc(m.patterns, func(p patterned) bool { return p.rule.refuse == "" && p.pattern.MatchString(name) })
}

// counterOf is the counter that a line names; "" where it names none.
func counterOf(line string) string {
	field, rest, _ := strings.Cut(strings.TrimLeft(line, "# "), ",")
	kind, _, _ := strings.Cut(rest, ",")
	if kind = strings.TrimSpace(kind); kind != "gauge" && kind != "counter" {
		return "" // a heading, or a label
	}
	return strings.TrimSpace(field)
}

// reasonFor finds the pattern by which a counter is left out: its name, before
// one with a star.
func reasonFor(name string) string {
	if _, ok := unmappedCounters[name]; ok {
		return name
	}
	if loaded := strings.HasSuffix(name, "POWER_VIOLATION") || strings.HasSuffix(name, "THERMAL_VIOLATION"); loaded {
		return "" // these are mapped
	}
	for pattern := range unmappedCounters {
		before, after, star := strings.Cut(pattern, "*")
		if star && strings.HasPrefix(name, before) && strings.HasSuffix(name, after) && len(name) >= len(before)+len(after) {
			return pattern
		}
	}
	return ""
}
