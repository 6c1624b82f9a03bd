package deploy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/rules/prometheus"
	"github.com/quintet-dc/quintet/rules/promlint"
)

// read decodes a YAML file, strictly where the target says so.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// compose is what is checked of the compose file.
type compose struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Command     []string          `yaml:"command"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		NetworkMode string            `yaml:"network_mode"`
		Build       map[string]string `yaml:"build"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

// mounts lists what a service sees at which path: a folder or file here.
func (c *compose) mounts(service string) map[string]string {
	out := map[string]string{}
	for _, v := range c.Services[service].Volumes {
		parts := strings.Split(v, ":")
		out[parts[1]] = parts[0]
	}
	return out
}

// built are mounts that a build makes; the sources beside them exist.
func built() map[string]string {
	return map[string]string{"../dashboards/grafana/dist": "../dashboards/grafana/src/plugin.json"}
}

// TestEveryMountExists: what the compose file mounts is there, or is a volume
// that it declares; what it builds from is there.
func TestEveryMountExists(t *testing.T) {
	var c compose
	read(t, "compose.yaml", &c)
	if len(c.Services) != 4 {
		t.Fatalf("%d services, want 4", len(c.Services))
	}
	for name, s := range c.Services {
		if s.NetworkMode != "host" {
			t.Errorf("%s: network_mode %q: everything is on the host's loopback", name, s.NetworkMode)
		}
		for at, from := range c.mounts(name) {
			if !strings.HasPrefix(from, ".") {
				if _, ok := c.Volumes[from]; !ok {
					t.Errorf("%s: volume %s is not declared", name, from)
				}
				continue
			}
			if source, ok := built()[from]; ok {
				from = source
			}
			if _, err := os.Stat(from); err != nil {
				t.Errorf("%s: %s: %v", name, at, err)
			}
		}
		if b := s.Build; b != nil {
			if _, err := os.Stat(filepath.Join(b["context"], b["dockerfile"])); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestGrafanaFindsEverything: data sources by the ids that dashboards name,
// dashboards where the provider looks, the plugin under the id that is allowed.
func TestGrafanaFindsEverything(t *testing.T) {
	var c compose
	read(t, "compose.yaml", &c)
	var sources struct {
		Datasources []struct{ UID, Type, URL string }
	}
	read(t, "../dashboards/grafana/provisioning/datasources/quintet.yaml", &sources)
	var provider struct {
		Providers []struct{ Options struct{ Path string } }
	}
	read(t, "../dashboards/grafana/provisioning/dashboards/quintet.yaml", &provider)
	text, err := os.ReadFile("../dashboards/grafana/src/plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	var plugin struct{ ID, Type string }
	if err := json.Unmarshal(text, &plugin); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, s := range sources.Datasources {
		types[s.UID] = s.Type
		if !strings.HasPrefix(s.URL, "${QUINTET_URL}") {
			t.Errorf("%s: url %s is not set by QUINTET_URL", s.UID, s.URL)
		}
	}
	if types[promlint.PrometheusSource] != "prometheus" || types[promlint.PluginSource] != plugin.ID || plugin.Type != "datasource" {
		t.Errorf("data sources %v; the plugin is %s", types, plugin.ID)
	}
	g := c.Services["grafana"]
	if g.Environment["GF_PLUGINS_ALLOW_LOADING_UNSIGNED_PLUGINS"] != plugin.ID || g.Environment["QUINTET_URL"] == "" || g.Environment["QUINTET_PAGE_URL"] == "" {
		t.Errorf("environment %v", g.Environment)
	}
	m := c.mounts("grafana")
	if m["/var/lib/grafana/plugins/"+plugin.ID] == "" || m["/etc/grafana/provisioning"] == "" || len(provider.Providers) != 1 || m[provider.Providers[0].Options.Path] != "../dashboards/grafana/dashboards" {
		t.Errorf("mounts %v, dashboards are sought at %v", m, provider.Providers)
	}
	home := g.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if _, err := os.Stat(filepath.Join("../dashboards/grafana/dashboards", filepath.Base(home))); err != nil {
		t.Error(err)
	}
}

// TestQuintetTakesItsConfiguration reads it as the service does.
func TestQuintetTakesItsConfiguration(t *testing.T) {
	f, problems := config.Read("quintet.yaml")
	for _, p := range problems {
		t.Error(p)
	}
	if f == nil || f.Listen != "127.0.0.1:8420" {
		t.Errorf("%+v", f)
	}
}

// TestTheUnits has systemd read them, with a program where they name one.
func TestTheUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, name := range []string{"quintet.service", "quintet-collect.service"} {
		text, err := os.ReadFile(filepath.Join("systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		program := filepath.Join(dir, strings.TrimSuffix(name, ".service"))
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		unit := filepath.Join(dir, name)
		if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/local/bin/"), []byte(dir+"/")), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(out), name) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+unitExposure, unit).CombinedOutput(); err != nil {
			t.Errorf("%s: its exposure is above a tenth of %s: %v: %s", name, unitExposure, err, out)
		}
	}
}

// unitExposure is ten times the exposure that systemd-analyze security may report of
// a unit; 10.0 is the worst. Network access and a writable state folder remain.
const unitExposure = "20"

// peer returns a program of others, or skips.
func peer(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../bin/peers", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("bin/peers/%s is not there: make peers release-tools", name)
	}
	return path
}

// here rewrites the paths of the compose file's mounts to those here.
func here(t *testing.T, text []byte, service string) []byte {
	t.Helper()
	var c compose
	read(t, "compose.yaml", &c)
	for at, from := range c.mounts(service) {
		if strings.HasPrefix(from, ".") {
			abs, err := filepath.Abs(from)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte(at+"/"), []byte(abs+"/"))
		}
	}
	return text
}

// TestPrometheusTakesItsConfiguration: it names all of our rules, and promtool
// finds nothing wrong with it and them.
func TestPrometheusTakesItsConfiguration(t *testing.T) {
	var p struct {
		Rules []string `yaml:"rule_files"`
	}
	read(t, "prometheus.yml", &p)
	for i := range p.Rules {
		p.Rules[i] = filepath.Base(p.Rules[i])
	}
	slices.Sort(p.Rules)
	if !slices.Equal(p.Rules, prometheus.Names()) {
		t.Errorf("rule_files %v, ours are %v", p.Rules, prometheus.Names())
	}
	tool := peer(t, "promtool")
	text, err := os.ReadFile("prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(name, here(t, text, "prometheus"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "config", "--lint=all", "--lint-fatal", name).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAlertmanagerRoutes has amtool say who is told of what.
func TestAlertmanagerRoutes(t *testing.T) {
	tool := peer(t, "amtool")
	if out, err := exec.CommandContext(t.Context(), tool, "check-config", "alertmanager.yml").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for labels, want := range map[string]string{
		"alertname=QuintetWatchdog severity=info":                                 "watchdog",
		"alertname=QuintetCoolantFlowLoss incident=inc-1 severity=critical job=a": "pager",
		"alertname=QuintetIncast incident=inc-2 severity=warning":                 "default",
		"alertname=FeedLost severity=critical kind=feed name=a":                   "pager",
		"alertname=PowerNearLimit severity=warning kind=rack name=r1":             "default",
	} {
		args := append([]string{"config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers=" + want}, strings.Fields(labels)...)
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: want %s: %v: %s", labels, want, err, out)
		}
	}
}
