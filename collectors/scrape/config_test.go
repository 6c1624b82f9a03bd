package scrape

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
)

func TestDecodeConfig(t *testing.T) {
	c, err := kind.Entry[Config]("scrape")(collectorstest.Node(t, `
interval: 1s
mappings: [dcgm]
targets:
  - {url: "http://n1:9400/metrics", labels: {node: n1}}
  - {url: "https://n2:9400/metrics", name: two, interval: 30s, labels: {fabric: infiniband}}
`))
	if err != nil || len(c.Targets) != 2 || c.Targets[0].Labels["node"] != "n1" || c.Targets[1].Labels["fabric"] != "infiniband" || c.Targets[1].Name != "two" {
		t.Fatalf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"targets: [{url: 'ftp://x'}]":                             `1:17: scrape: targets: url: "ftp://x": want http:// or https:// and a host`,
		"targets: [{url: 'http://a:b@x/'}]":                       "1:17: scrape: targets: url: want no user in it: use basic_auth",
		"targets: [{labels: {node: n1}}]":                         "1:11: scrape: targets: url: required",
		"interval: 1s":                                            "1:1: scrape: targets: required",
		"interval: 1ms\ntargets: [{url: 'http://x'}]":             "1:11: scrape: interval: 1ms, want 1s to 1h0m0s",
		"targets: [{url: 'http://x'}]\nbasic_auth: {username: u}": "2:13: scrape: basic_auth: username and password_file: each requires the other",
		"targets: [{url: 'http://x', cadence: 1s}]":               "1:29: scrape: targets: unknown key \"cadence\"; want one of url, name, interval, labels",
		"targets: [{url: 'http://x', labels: [a]}]":               "1:37: scrape: targets: labels: want names and values, found a list",
		"tls: {cert_file: a}\ntargets: [{url: 'http://x'}]":       "1:6: scrape: tls: cert_file and key_file: each requires the other",
	} {
		if _, err := kind.Entry[Config]("scrape")(collectorstest.Node(t, text).Content[0]); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// TestNew: what a configuration names must be there, and a user's mapping comes
// before ours.
func TestNew(t *testing.T) {
	target := []Target{{URL: "http://127.0.0.1:1/metrics"}}
	if _, err := New(Config{}, dial.Guard{}); !errors.Is(err, ErrNoTarget) {
		t.Error(err)
	}
	if _, err := New(Config{Targets: target, Mappings: []string{"dcgn"}}, dial.Guard{}); err == nil || !strings.Contains(err.Error(), `no mapping "dcgn"; there are amd, dcgm,`) {
		t.Error(err)
	}
	if _, err := New(Config{Targets: append(target, target...)}, dial.Guard{}); err == nil || !strings.Contains(err.Error(), `another is called "127.0.0.1:1/metrics": give it a name`) {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "own.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("mapping: own\nseries:\n  - {from: a, of: rck, to: b}\n")
	if _, err := New(Config{Targets: target, Files: []string{file}}, dial.Guard{}); err == nil || !strings.Contains(err.Error(), file+":3:19: rules.0.of: \"rck\" is no entity of this file") {
		t.Error(err)
	}
	write("mapping: own\nseries:\n  - {from: DCGM_FI_DEV_GPU_TEMP, of: \"gpu:{node}/x{gpu}\", to: gpu_temperature_celsius}\n  - {from: rack_load, where: {rack: 'r(?P<n>[0-9]+)'}, of: 'rack:{n}', to: rack_power_watts, times: 1e3}\n")
	e := once(t, Config{Files: []string{file}}, map[string]string{"node": "n1"}, "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60\nDCGM_FI_DEV_MEMORY_TEMP{gpu=\"0\"} 50\nrack_load{rack=\"r12\"} 63.2\n")
	if want := "gpu:n1/0 gpu_memory_temperature_celsius 50\ngpu:n1/x0 gpu_temperature_celsius 60\nrack:12 rack_power_watts 63200\n"; e.golden() != want {
		t.Errorf("%s\nwant %s", e.golden(), want)
	}
}

func FuzzDecodeConfig(f *testing.F) {
	f.Add("targets: [{url: 'http://x', labels: {node: n}}]\ninterval: 1s")
	f.Add("targets:\n  - labels: {a: b}\n    url: 'https://y:1/z'\ntls: {insecure_skip_verify: true}")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			t.Skip()
		}
		n := tryNode(text)
		if n == nil {
			t.Skip()
		}
		c, err := kind.Entry[Config]("scrape")(n)
		if err == nil && len(c.Targets) == 0 {
			t.Error("no target and no fault")
		}
	})
}
