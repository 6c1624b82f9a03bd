package fabric

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

func decode(text string) (Config, error) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		return Config{}, err
	}
	return kind.Entry[Config]("fabric")(&n)
}

func TestAnEntryIsRead(t *testing.T) {
	got, err := decode(`
subnet: p3
interval: 5s
discovery_interval: 2m
rate: 500
adapters: true
ports: 100
ca: mlx5_0
port: 1
port_name: sw{cage}p{split}
node_name_map: /etc/map
profile: /etc/profile.yaml
ibnetdiscover: /opt/a
perfquery: /opt/b
sminfo: /opt/c
environment: {LD_PRELOAD: /x.so, SIM_HOST: S-1}
directory: /tmp
timeout: 200ms
`)
	want := Config{Subnet: "p3", Every: 5 * time.Second, Topology: 2 * time.Minute, Rate: 500, Adapters: true, Ports: 100, CA: "mlx5_0", Port: 1,
		PortName: "sw{cage}p{split}", NodeNameMap: "/etc/map", Profile: "/etc/profile.yaml", Ibnetdiscover: "/opt/a", Perfquery: "/opt/b",
		Sminfo: "/opt/c", Environment: map[string]string{"LD_PRELOAD": "/x.so", "SIM_HOST": "S-1"}, Directory: "/tmp", Timeout: 200 * time.Millisecond}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"rate: 39":               "1:7: fabric: rate: 39, want 40 to 20000",
		"interval: 10ms":         "1:11: fabric: interval: 10ms, want 1s to 1h0m0s",
		"port_name: eth":         `1:12: fabric: port_name: "eth": want {port}, or {cage} and {split}`,
		"port_name: a/{port}":    `1:12: fabric: port_name: "a/{port}": want at most 40 bytes without '/' and spaces`,
		"\nenvironment: [A]":     "2:14: fabric: environment: want names and values, found a list",
		"environment: {1A: b}":   `1:14: fabric: environment: "1A" is not the name of a variable`,
		"reset: true":            `1:1: fabric: unknown key "reset"; want one of subnet, interval, discovery_interval, rate, adapters, ports, ca, port, port_name, node_name_map, profile, ibnetdiscover, perfquery, sminfo, environment, directory, timeout`,
		"port: 255":              "1:7: fabric: port: 255, want 1 to 254",
		"subnet: [a]\nport: 300": "1:9: fabric: subnet: want text, found a list\n2:7: fabric: port: 300, want 1 to 254",
	} {
		if _, err := decode(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	c, err := New(Config{})
	if err != nil || c.Target() != "ib0" || c.cfg.Rate != 2000 || c.cfg.Every != 10*time.Second || c.cfg.PortName != "{port}" {
		t.Errorf("defaults: %+v, %v", c, err)
	}
	for _, c := range []Config{{Subnet: "a/b"}, {Rate: 1}, {PortName: "x"}, {Profile: "/nowhere"}, {NodeNameMap: "/nowhere"}} {
		if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), "fabric: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	c, err = New(Config{Perfquery: "/nowhere/perfquery"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), discard{}); err == nil || !strings.Contains(err.Error(), "/nowhere/perfquery") {
		t.Errorf("a missing program: %v", err)
	}
}

// TestAProfileIsRead: what is wrong has its line, what is one's own comes
// first.
func TestAProfileIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"names:\n - {of: switch, match: '('}":                "2:24: names: match: error parsing regexp: missing closing ): `^(?:()$`",
		"names:\n - {of: switch, match: 'a'}":                "2:4: names: a switch's pattern requires the group name",
		"names:\n - {of: adapter, match: '(?P<node>a)'}":     "2:4: names: an adapter's pattern requires the groups node, and device or ordinal",
		"names:\n - {of: spine, match: 'a'}":                 `2:9: names: of: want one of switch, adapter, aggregation, unnamed, found "spine"`,
		"devices:\n - {name: x, vendor: 1}":                  "2:4: devices: want vendor, device, and tick_bytes or tick_bytes_per_lane",
		"devices:\n - {vendor: x, device: 1, tick_bytes: 8}": `2:13: devices: vendor: want a number such as 0x2c9, found "x"`,
		"rules:\n - {metric: a}":                             "2:4: rules: want from",
		"rules:\n - {from: A, metric: 'a b'}":                `2:22: rules: metric: `,
		"rules: x":                                           `1:8: rules: want a list, found "x"`,
	} {
		_, err := mapping.Decode([]byte(text), new(Profile))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "own.yaml")
	own := "names:\n - {of: switch, pattern: 'sw (?P<name>.*)'}\ndevices:\n - {vendor: 0x2c9, device: 0xd2f0, tick_bytes: 16}\ncounters:\n - {field: QP1Dropped, metric: port_x_total}\n"
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	p, former, err := loadProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	if p.device(0x2c9, 0xd2f0).Tick != 16 || p.device(0x2c9, 0xd2f2).Tick != 8 {
		t.Error("devices of one's own are not before the others")
	}
	if got := p.Rules[fieldsOf(p)["QP1Dropped"]].Metric; got != "port_x_total" {
		t.Errorf("a counter of one's own is %s", got)
	}
	if len(former) != 1 || len(former[0].Keys) != 3 || former[0].Keys[2].String() != "rules.field is now rules.from" {
		t.Errorf("former keys: %v", former)
	}
	if n := (&namer{profile: p}).node(&ibdiag.Node{Type: ibdiag.Switch, Description: "sw of hall 2"}); n.name != "of_hall_2" {
		t.Errorf("a name by a rule of one's own: %q", n.name)
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add(string(builtIn))
	f.Add("names: [{of: nobody, pattern: 'x'}]\ndevices: [{vendor: 1, device: 2, tick_bytes: 3}]")
	f.Fuzz(func(t *testing.T, text string) {
		var p Profile
		if _, err := mapping.Decode([]byte(text), &p); err == nil {
			for _, r := range p.Names {
				if r.Pattern.Regexp == nil || r.Of == "" {
					t.Errorf("rule %+v", r)
				}
			}
		}
	})
}

// TestNodesAreNamed: nodes are named by their descriptions.
func TestNodesAreNamed(t *testing.T) {
	p, _, err := loadProfile("")
	if err != nil {
		t.Fatal(err)
	}
	m := &namer{profile: p, portFmt: "{port}", given: map[uint64]string{0x77: "spine 7", 0x78: "h9 mlx5_2"}}
	for _, x := range []struct {
		node ibdiag.Node
		want string
	}{
		{ibdiag.Node{Type: ibdiag.Switch, Description: "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1"}, "port:A09-P1-IBLEAF-04-04/3 in switch:A09-P1-IBLEAF-04-04"},
		{ibdiag.Node{Type: ibdiag.Switch, Description: "MF0;core1:MCS8500/L01/U1"}, "port:core1-L01/3 in switch:core1-L01"},
		{ibdiag.Node{Type: ibdiag.Switch, Description: " ib-i4l1s01 "}, "port:ib-i4l1s01/3 in switch:ib-i4l1s01"},
		{ibdiag.Node{Type: ibdiag.Switch, Description: "spine of hall 2"}, "port:spine_of_hall_2/3 in switch:spine_of_hall_2"},
		{ibdiag.Node{Type: ibdiag.Switch, Description: "Quantum Mellanox Technologies"}, "port:guid-0000000000000001/3 in switch:guid-0000000000000001"},
		{ibdiag.Node{Type: ibdiag.Switch, Description: ""}, "port:guid-0000000000000001/3 in switch:guid-0000000000000001"},
		{ibdiag.Node{Type: ibdiag.Switch, GUID: 0x77, Description: "x"}, "port:spine_7/3 in switch:spine_7"},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, Description: "n0001 mlx5_0"}, "nic:n0001/mlx5_0 in node:n0001"},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 2, Description: "n0001 mlx5_0"}, "nic:n0001/mlx5_0:3 in node:n0001"},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, Description: "a06-p1-dgx-02-c01 HCA-6"}, "nic:a06-p1-dgx-02-c01/mlx5_5 in node:a06-p1-dgx-02-c01"},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, Description: "RMD701091901003 ibp11s0f0"}, "nic:RMD701091901003/ibp11s0f0 in node:RMD701091901003"},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, Description: "MT4129 ConnectX7   Mellanox Technologies"}, "nic:guid-0000000000000001 in "},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, GUID: 0x78, Description: "MT4129 ConnectX7   Mellanox Technologies"}, "nic:h9/mlx5_2 in node:h9"},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, Description: "storage"}, "nic:storage/guid-0000000000000001 in "},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, Description: "a/b c/d"}, "nic:a%2Fb/c%2Fd in node:a%2Fb"},
		{ibdiag.Node{Type: ibdiag.Adapter, Ports: 1, Description: strings.Repeat("n", 190) + " mlx5_0"}, "nic:guid-0000000000000001 in "},
	} {
		if x.node.GUID == 0 {
			x.node.GUID = 1
		}
		n := m.node(&x.node)
		if got := n.port(3).String() + " in " + n.owner().String(); got != x.want {
			t.Errorf("%q: %s, want %s", x.node.Description, got, x.want)
		}
		if err := n.port(254).Validate(); err != nil {
			t.Error(err)
		}
	}
	if n := m.node(&ibdiag.Node{Type: ibdiag.Adapter, Description: "Mellanox Technologies Aggregation Node"}); n.cabled() {
		t.Error("the engine inside a switch has a cable")
	}
	sw := &node{kind: ibdiag.Switch, name: "s", portFmt: "sw{cage}p{split}"}
	if got := sw.port(1).Name + " " + sw.port(2).Name + " " + sw.port(63).Name; got != "s/sw1p1 s/sw1p2 s/sw32p1" {
		t.Errorf("cages: %s", got)
	}
	// Two of one name are two things.
	nodes, doubles := m.names(&ibdiag.Topology{Nodes: []ibdiag.Node{{Type: ibdiag.Switch, GUID: 1, Description: "a"}, {Type: ibdiag.Switch, GUID: 2, Description: "a"}, {Type: ibdiag.Switch, GUID: 1, Description: "b"}}})
	if doubles != 2 || nodes[1].name != "a" || nodes[2].name != "guid-0000000000000002" {
		t.Errorf("%d doubles, %v", doubles, nodes)
	}
}

func TestANodeNameMapIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# ours\n0x0c42a10300100000 \"leaf 1\" # left\n\n0x2\tspine2  # right\n")
	got, err := readNames(path)
	if want := map[uint64]string{0x0c42a10300100000: "leaf 1", 2: "spine2"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"0x1 a\nleaf 2":   `line 2: "leaf": want a GUID such as 0x2c5eab0300b87b40`,
		"0x1 \"a":         `line 1: "\"a": the quote does not end`,
		"0x1 # nothing\n": "line 1: 0x1 has no name",
	} {
		write(text)
		if _, err := readNames(path); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func FuzzNameLine(f *testing.F) {
	f.Add("0x1 \"a\" # b")
	f.Add("0x2\tspine2#x")
	f.Fuzz(func(t *testing.T, line string) {
		if _, name, err := nameLine(line); err != nil && name != "" {
			t.Errorf("%q: %q, %v", line, name, err)
		}
	})
}
