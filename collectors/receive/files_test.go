package receive

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// heardEdges keeps what a file states, as text.
type heardEdges struct{ lines []string }

func (h *heardEdges) Emit(r *telemetry.Record) {
	line := r.Edge.From.String() + " " + string(r.Edge.Relation) + " " + r.Edge.To.String() + " by " + r.Edge.Source
	if r.Edge.End != 0 {
		line += " ended"
	}
	h.lines = append(h.lines, line)
}

// Logger implements collectors.Sink.
func (h *heardEdges) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (h *heardEdges) Swept(collectors.Sweep) {}

func (h *heardEdges) take() string {
	defer func() { h.lines = nil }()
	return strings.Join(h.lines, "\n")
}

// TestFiles: a file of edges is read once, changed, broken and repaired.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fabric.json")
	clock := time.Unix(1764000000, 0)
	f := NewFiles([]string{path}, func() time.Time { return clock })
	known, heard := make([]fileState, 1), &heardEdges{}
	for _, step := range []struct{ name, content, want, err string }{
		{"first", `{"entities":[{"id":"switch:leaf0","attrs":{"tier":"leaf"}}],"edges":[{"from":"nic:h0/a","to":"port:leaf0/p1","rel":"connects"},{"from":"job:j","to":"node:h0","rel":"runs","source":"slurm"}]}`,
			"job:j runs node:h0 by slurm\nswitch:leaf0 member group:tier/leaf by file\nnic:h0/a connects port:leaf0/p1 by file", ""},
		{"the same again", "", "", ""},
		{"one cable moved", `[{"from":"nic:h0/a","to":"port:leaf0/p2","rel":"connects"},{"from":"job:j","to":"node:h0","rel":"runs","source":"slurm"}]`,
			"nic:h0/a connects port:leaf0/p2 by file\nswitch:leaf0 member group:tier/leaf by file ended\nnic:h0/a connects port:leaf0/p1 by file ended", ""},
		{"other attributes", `[{"from":"nic:h0/a","to":"port:leaf0/p2","rel":"connects","attrs":{"speed_bits_per_second":1e11}},{"from":"job:j","to":"node:h0","rel":"runs","source":"slurm"}]`,
			"nic:h0/a connects port:leaf0/p2 by file", ""},
		{"broken", `[{"from":"nic:h0/a","to":"port:leaf0/p2","rel":"touches"}]`, "", `fabric.json: edges[0].rel: relation "touches"`},
		{"mended", `[{"from":"nic:h0/a","to":"port:leaf0/p2","rel":"connects"}]`, "nic:h0/a connects port:leaf0/p2 by file\njob:j runs node:h0 by slurm ended", ""},
	} {
		if step.content != "" {
			clock = clock.Add(time.Minute)
			if err := os.WriteFile(path, []byte(step.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, clock, clock); err != nil {
				t.Fatal(err)
			}
		}
		sweep := f.sweep(known, heard)
		if got := heard.take(); !sameLines(got, step.want) {
			t.Errorf("%s: stated\n%s\nwant\n%s", step.name, got, step.want)
		}
		if got := errorText(sweep.Err); !strings.Contains(got, step.err) || (step.err == "") != (got == "") {
			t.Errorf("%s: error %q, want %q", step.name, got, step.err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if sweep := f.sweep(known, heard); sweep.Err == nil || heard.take() != "" {
		t.Error("a file that is gone must be told of, and take nothing back")
	}
}

func sameLines(a, b string) bool {
	count := map[string]int{}
	for _, l := range strings.Split(a, "\n") {
		count[l]++
	}
	for _, l := range strings.Split(b, "\n") {
		count[l]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
