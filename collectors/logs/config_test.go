package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// TestConfig: every key is read, and every mistake has its place.
func TestConfig(t *testing.T) {
	c, err := DecodeConfig(collectorstest.Node(t, `
name: a
node: h1
kernel: {path: /k, boot: 2026-01-02T03:04:05Z}
files: [/var/log/syslog, {path: /var/log/x, form: syslog}]
listen: ["udp://127.0.0.1:5514", "tcp://[::1]"]
interval: 2s
since: 1m
state: /s
patterns: [/p.yaml]
zone: Europe/Berlin
gpus: {"0000:1A:00": 3, "9b:00.0": 4}
nics: {"0000:18:00.0": mlx5_0, rdma1: mlx5_1}
ports: {leaf1/Ethernet4: eth2}
subnets: {mgr1: p0}
hosts: {10.0.0.1: leaf1}
gpus_from: /g
nics_from: /n
`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "a" || c.Node != "h1" || c.Kernel.Path != "/k" || c.Kernel.Boot.Year() != 2026 || len(c.Files) != 2 || c.Files[1].Form != formSyslog ||
		c.Listen[0].Address.String() != "127.0.0.1:5514" || c.Listen[1].Network != "tcp" || c.Listen[1].Address.Port() != 514 || c.Every != 2*time.Second ||
		c.Since != time.Minute || c.State != "/s" || c.Patterns[0] != "/p.yaml" || c.Zone.String() != "Europe/Berlin" || c.GPUs["0000:1a:00.0"] != "3" ||
		c.GPUs["0000:9b:00.0"] != "4" || c.NICs["rdma1"] != "mlx5_1" || c.Ports["leaf1/Ethernet4"] != "eth2" || c.Subnets["mgr1"] != "p0" ||
		c.Hosts["10.0.0.1"] != "leaf1" || c.GPUsFrom != "/g" || c.NICsFrom != "/n" {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		"colour: red":                           `1:1: logs: unknown key "colour"`,
		"interval: 10ms":                        "1:11: logs: interval: 10ms, want 1s to 1h0m0s",
		"listen: [quic://127.0.0.1]":            `1:10: logs: listen: "quic://127.0.0.1": want udp:// or tcp://`,
		"listen: ['udp://leaf1:514']":           "1:10: logs: listen: ",
		"gpus: {rdma0: 1}":                      `1:7: logs: gpus: "rdma0" is not a key here, or there twice`,
		"gpus: {'1a:00': 1, '0000:1a:00.0': 2}": "1:7: logs: gpus: ",
		"ports: {Ethernet4: eth2}":              `1:8: logs: ports: "Ethernet4" is not a key here`,
		"kernel: {form: kmsg}":                  "1:9: logs: kernel: path: required",
		"files: [{path: x, boot: soon}]":        "1:25: logs: files: boot: want a time",
		"zone: Mars/North":                      "1:7: logs: zone: want a time zone",
		"since: 30h":                            "1:8: logs: since: 30h0m0s, want 0s to 24h0m0s",
	} {
		if _, err := DecodeConfig(collectorstest.Node(t, text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	if c, err := New(Config{}, dial.Guard{}); err != nil || c.cfg.Kernel.Path != kernelDevice || c.Target() == "" {
		t.Errorf("the default reads the kernel's messages of this host: %+v, %v", c, err)
	}
	if _, err := New(Config{Node: "a b"}, dial.Guard{}); err == nil {
		t.Error("a node with a space")
	}
}

// TestPatternsOfOnesOwn come first, leave lines out where they have no event,
// and are refused with file, line and column where they are wrong.
func TestPatternsOfOnesOwn(t *testing.T) {
	file := temp(t, "own.yaml")
	write(t, file, `version: 1
patterns:
  - {name: no-31, has: "Xid", match: 'Xid \(PCI:(?P<pci>[^)]+)\): 31,'}
  - {name: gadget, has: gadget, match: 'gadget (?P<n>\d+) (?P<what>.*)', entity: ["psu:{host}/{n}"], event: gadget, text: "{what}", count: gadget_total}
`)
	now := time.Unix(1_800_000_000, 0)
	c := sampleConfig()
	c.Patterns, c.Since = []string{file}, time.Hour
	c.Kernel = File{Path: temp(t, "kmsg"), Boot: now.Add(-time.Minute)}
	write(t, c.Kernel.Path, xid(1, 31)+xid(2, 32)+"13,3,1,-;gadget 7 burns\n")
	got := once(t, stands(t, c, now))
	equal(t, "events", got.told(), append(events(32), "psu:h1/7 gadget burns"))
	if n, _ := got.value("psu:h1/7 gadget_total"); n != 1 {
		t.Error(n)
	}
	for text, want := range map[string]string{
		"rules: []\nwhat: 1":                                                             `2:1: unknown key "what"`,
		"rules: [{name: a, has: b}]":                                                     "1:9: rules: want name, has and match",
		"rules: [{name: a, has: b, match: '('}]":                                         "1:34: rules: match: error parsing regexp",
		"rules: [{name: a, has: b, match: c, event: d}]":                                 "1:9: rules: an event requires of and text",
		"rules: [{name: a, has: b, match: c, text: '{d'}]":                               `1:43: rules: text: "{d": want a variable between { and }`,
		"rules: [{name: a, has: b, match: c, text: '{d}', of: 'node:{host}', event: e}]": "1:43: rules: text: {d} is no group of match",
		"rules: [{name: a, has: b, match: c, text: x, of: ['thing:{host}'], event: e}]":  `1:51: rules: of: "thing:{host}": want kind:name`,
		"rules: [{name: a, has: b, match: c, text: '{cpu:host}'}]":                       "1:43: rules: text: {cpu:…}: want one of the tables",
		"rules: [{name: a, has: b, match: c, count: things}]":                            `1:44: rules: count: "things": a count's name ends in _total`,
		"rules: [{name: a, has: b, match: c, app: ['[']}]":                               "1:43: rules: app: ",
	} {
		bad := filepath.Join(t.TempDir(), "bad.yaml")
		write(t, bad, text)
		c.Patterns = []string{bad}
		if _, err := New(c, dial.Guard{}); err == nil || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestAddresses: every way of writing a PCI address is the same one.
func TestAddresses(t *testing.T) {
	for s, want := range map[string]string{"0000:1A:00": "0000:1a:00.0", "00000000:1a:00.0": "0000:1a:00.0", "1a:00.1": "0000:1a:00.1", "10000:01:00.0": "10000:01:00.0",
		"rdma0": "", "": "", "::": "", "1:2:3:4": "", "0000:1ff:00.0": "", "0000:1a:00.x": ""} {
		if got, ok := address(s); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", s, got, ok)
		}
	}
}

// TestLearning: a host's own GPUs and NICs are found where its drivers show
// them; a device that comes later is found a minute after it was missed; other
// hosts' are not guessed.
func TestLearning(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"gpus/0000:9b:00.0", "gpus/0000:1a:00.0", "pci/0000:18:00.0/net/rdma0", "ib/mlx5_0"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../pci/0000:18:00.0", filepath.Join(dir, "ib/mlx5_0/device")); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	n := newNames(&Config{Node: "h1", GPUsFrom: filepath.Join(dir, "gpus"), NICsFrom: filepath.Join(dir, "ib")}, func() time.Time { return now })
	for _, c := range []struct{ table, host, key, want string }{
		{gpuTable, "h1", "0000:1a:00", "0"}, {gpuTable, "h1", "0000:9b:00", "1"}, {nicTable, "h1", "rdma0", "mlx5_0"}, {nicTable, "h1", "0000:18:00.0", "mlx5_0"},
		{gpuTable, "h2", "0000:1a:00", ""}, {gpuTable, "h1", "0000:01:00", ""}, {nicTable, "h1", "", ""},
	} {
		if got, ok := n.lookup(c.table, c.host, c.key); got != c.want || ok != (c.want != "") {
			t.Errorf("%s %s %s: %q", c.table, c.host, c.key, got)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "gpus/0000:01:00.0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, ok := n.lookup(gpuTable, "h1", "0000:01:00"); ok {
		t.Error("looked again at once")
	}
	now = now.Add(time.Minute)
	if got, _ := n.lookup(gpuTable, "h1", "0000:01:00"); got != "0" {
		t.Errorf("a minute later: %q", got)
	}
}
