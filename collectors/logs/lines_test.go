package logs

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// sampleNames are the tables of testdata/lines.txt.
func sampleConfig() Config {
	return Config{Node: "h1", GPUs: map[string]string{"0000:1a:00.0": "0", "0000:9b:00.0": "4"}, NICs: map[string]string{"0000:18:00.0": "mlx5_0", "rdma0": "mlx5_0"},
		Ports: map[string]string{"leaf1/Ethernet4": "eth2"}, Subnets: map[string]string{"mgr1": "p0"}}
}

// TestLines: what each line becomes, by which pattern; and every pattern has a
// line.
func TestLines(t *testing.T) {
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(sampleConfig(), dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, p := range c.library.patterns {
		if _, ok := telemetry.DefaultCatalogue().Lookup(p.Count); p.Count != "" && !ok {
			t.Errorf("%s: nobody declares %s", p.Name, p.Count)
		}
	}
	names := newNames(&c.cfg, time.Now)
	used, raw := map[string]bool{}, ""
	for n, row := range strings.Split(string(text), "\n") {
		want, result := strings.CutPrefix(row, "=> ")
		if !result {
			if row != "" && row[0] != '#' {
				raw = row
			}
			continue
		}
		got := "malformed"
		if l, ok := (scope{now, time.UTC}).decode(formAuto, raw); ok {
			if l.host == "" {
				l.host = "h1"
			}
			got = "skipped"
			if f := c.library.find(&l); f.pattern != nil {
				h, ok := f.event(names)
				got = fmt.Sprintf("%s: %s %s %s", f.pattern.Name, h.event.Entity, h.event.Name, h.event.Text)
				if !ok {
					got = "unknown"
				}
				if !l.at.IsZero() {
					got += " @ " + l.at.UTC().Format(time.RFC3339Nano)
				}
				used[f.pattern.Name] = true
			}
		}
		if got != want {
			t.Errorf("line %d: %s\n got %s\nwant %s", n+1, raw, got, want)
		}
	}
	for _, p := range c.library.patterns {
		if !used[p.Name] {
			t.Errorf("pattern %s has no line in testdata/lines.txt", p.Name)
		}
	}
}
