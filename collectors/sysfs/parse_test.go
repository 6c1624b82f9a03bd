package sysfs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		text string
		want uint64
		why  collectors.Reason
	}{
		{"0\n", 0, good}, {"230442669431839\n", 230442669431839, good}, {" 7 \n\n", 7, good}, {"7\x00\n", 7, good}, {"007", 7, good},
		{"18446744073709551615", 1<<64 - 1, good},
		{"18446744073709551616", 0, collectors.OutOfRange}, {"99999999999999999999999", 0, collectors.OutOfRange},
		{"9999999999999999999999x", 0, collectors.Malformed},
		{"", 0, collectors.Malformed}, {"\n", 0, collectors.Malformed}, {"-1", 0, collectors.Malformed}, {"+1", 0, collectors.Malformed},
		{"0x10", 0, collectors.Malformed}, {"1.5", 0, collectors.Malformed}, {"12\n13", 0, collectors.Malformed}, {"1 2", 0, collectors.Malformed},
		{"N/A (no PMA)\n", 0, collectors.Unsupported},
	} {
		if got, why := count([]byte(c.text)); got != c.want || why != c.why {
			t.Errorf("count(%q) = %d %q, want %d %q", c.text, got, why, c.want, c.why)
		}
	}
}

func FuzzCount(f *testing.F) {
	for _, s := range []string{"0", "18446744073709551615\n", "18446744073709551616", "N/A (no PMA)", " 1\n2"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, why := count(b)
		want, err := strconv.ParseUint(string(trim(b)), 10, 64)
		if (why == good) != (err == nil) || got != want && err == nil {
			t.Errorf("count(%q) = %d %q; strconv says %d, %v", b, got, why, want, err)
		}
	})
}

func TestState(t *testing.T) {
	for _, c := range []struct {
		text  string
		names []string
		want  uint64
		why   collectors.Reason
	}{
		{"4: ACTIVE\n", logicalStates, 4, good}, {"1: DOWN", logicalStates, 1, good}, {"5: ACTIVE_DEFER", logicalStates, 5, good},
		{"5: LinkUp", physicalStates, 5, good}, {"4: PortConfigurationTraining\n", physicalStates, 4, good}, {"7: Phy Test", physicalStates, 7, good},
		{"5: LinkUp\n5: LinkUp", physicalStates, 5, good}, {"5: <unknown>", physicalStates, 5, good}, {"5", physicalStates, 5, good},
		{"4: ACTIVE", physicalStates, 0, collectors.Malformed}, {"5: LinkUp", logicalStates, 0, collectors.Malformed},
		{"4: DOWN", logicalStates, 0, collectors.Malformed}, {"6: WHAT", logicalStates, 0, collectors.Malformed},
		{"", logicalStates, 0, collectors.Malformed}, {"ACTIVE", logicalStates, 0, collectors.Malformed}, {": ACTIVE", logicalStates, 0, collectors.Malformed},
	} {
		if got, why := state([]byte(c.text), c.names); got != c.want || why != c.why {
			t.Errorf("state(%q) = %d %q, want %d %q", c.text, got, why, c.want, c.why)
		}
	}
}

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text string
		want rate
		why  collectors.Reason
	}{
		{"400 Gb/sec (4X NDR)\n", rate{4000, false}, good}, {"200 Gb/sec (2X NDR)", rate{2000, false}, good}, {"25 Gb/sec (1X EDR)", rate{250, false}, good},
		{"2.5 Gb/sec (1X SDR)", rate{25, true}, good}, {"10 Gb/sec (4X SDR)", rate{100, true}, good}, {"10 Gb/sec (4X)", rate{100, true}, good},
		{"30 Gb/sec (12X SDR)", rate{300, true}, good}, {"10 Gb/sec (1X QDR)", rate{100, false}, good}, {"56 Gb/sec (4X FDR)", rate{560, false}, good},
		{"10 Gb/sec (1X FDR10)", rate{100, false}, good}, {"800 Gb/sec (4X XDR)\njunk", rate{8000, false}, good}, {"10 Gb/sec", rate{100, false}, good},
		{"", rate{}, collectors.Malformed}, {"fast", rate{}, collectors.Malformed}, {"0 Gb/sec (4X SDR)", rate{}, collectors.Malformed},
		{"10 Mb/sec", rate{}, collectors.Malformed}, {"2.55 Gb/sec", rate{}, collectors.Malformed}, {"99999999999999999999 Gb/sec", rate{}, collectors.Malformed},
	} {
		if got, why := parseRate([]byte(c.text)); got != c.want || why != c.why {
			t.Errorf("parseRate(%q) = %+v %q, want %+v %q", c.text, got, why, c.want, c.why)
		}
	}
}

func TestParsePCIe(t *testing.T) {
	for text, want := range map[string]uint64{"16.0 GT/s PCIe\n": 160, "2.5 GT/s": 25, "8 GT/s": 80, "64.0 GT/s PCIe": 640, "Unknown": 0, "16": 0, "": 0} {
		if got, why := parseTransfers([]byte(text)); got != want || (why == good) != (want > 0) {
			t.Errorf("parseTransfers(%q) = %d %q, want %d", text, got, why, want)
		}
	}
	for text, want := range map[string]uint64{"16\n": 16, "1": 1, "32": 32, "0": 0, "63": 0, "255": 0, "40": 0, "x16": 0} {
		if got, why := parseLanes([]byte(text)); got != want || (why == good) != (want > 0) {
			t.Errorf("parseLanes(%q) = %d %q, want %d", text, got, why, want)
		}
	}
}

func FuzzTexts(f *testing.F) {
	for _, s := range []string{"4: ACTIVE", "400 Gb/sec (4X NDR)", "16.0 GT/s PCIe", "63", "5: LinkUp\n", "10 Gb/sec (99999999999999999999X)"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, why := state(b, physicalStates); why == good && v >= uint64(len(physicalStates)) {
			t.Errorf("state(%q) = %d", b, v)
		}
		if r, why := parseRate(b); why == good && (r.tenths == 0 || r.tenths > uint64(1<<64-1)/uint64(bitsPerTenth)) {
			t.Errorf("parseRate(%q) = %+v", b, r)
		}
		if v, why := parseTransfers(b); why == good && v > uint64(1<<64-1)/uint64(1e8) {
			t.Errorf("parseTransfers(%q) = %d", b, v)
		}
		if v, why := parseLanes(b); why == good && (v == 0 || v > 32) {
			t.Errorf("parseLanes(%q) = %d", b, v)
		}
		if s := printable(string(b), 20); !utf8.ValidString(s) || len(s) > 20 || strings.ContainsAny(s, "\n\t\x00") {
			t.Errorf("printable(%q) = %q", b, s)
		}
		name := string(b)
		e := telemetry.Entity{Kind: telemetry.NIC, Name: "h/" + part(name)}
		if err := e.Validate(); err != nil {
			t.Errorf("part(%q): %v", b, err)
		}
		if err := foreign("mlx5", name).column().Validate(); err != nil {
			t.Errorf("foreign(%q): %v", b, err)
		}
	})
}

func FuzzNatural(f *testing.F) {
	f.Add("mlx5_2", "mlx5_10")
	f.Add("a01", "a1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if x, y := natural(a, b), natural(b, a); x > 0 != (y < 0) || x == 0 != (a == b) {
			t.Errorf("natural(%q, %q) = %d, the other way %d", a, b, x, y)
		}
	})
}

func TestNatural(t *testing.T) {
	got := []string{"mlx5_10", "mlx5_bond_0", "hfi1_0", "mlx5_2", "mlx5_0", "mlx5_02"}
	slices.SortFunc(got, natural)
	if want := []string{"hfi1_0", "mlx5_0", "mlx5_02", "mlx5_2", "mlx5_10", "mlx5_bond_0"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func decode(t testing.TB, text string) (Config, error) {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Skip("not YAML")
	}
	return kind.Entry[Config]("sysfs")(&n)
}

func TestDecodeConfig(t *testing.T) {
	c, err := decode(t, "path: /tmp/sys\ninterval: 2s\nethtool: none\nnode: 1234\nall_statistics: true\n")
	if err != nil || c != (Config{Path: "/tmp/sys", Every: 2e9, Ethtool: "none", Node: "1234", AllStatistics: true}) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, empty := range []string{"", "{}", "~"} {
		if c, err := decode(t, empty); err != nil || c != (Config{Path: "/sys", Every: 1e9}) {
			t.Errorf("%q: %+v, %v", empty, c, err)
		}
	}
	if _, err := kind.Entry[Config]("sysfs")(nil); err != nil {
		t.Error(err)
	}
	_, err = decode(t, "path: [7]\ninterval: 10ms\nspeed: fast\nnode: [a]\n"+"path: x\nethtool: \"\"\nall_statistics: 1\n")
	want := `1:7: sysfs: path: want text, found a list
2:11: sysfs: interval: 10ms, want 1s to 1h0m0s
3:1: sysfs: unknown key "speed"; want one of path, interval, ethtool, all_statistics, node
4:7: sysfs: node: want text, found a list
5:1: sysfs: duplicate key "path": also in line 1
6:10: sysfs: ethtool: want text, found nothing
7:17: sysfs: all_statistics: want true or false, found "1"`
	if err == nil || err.Error() != want {
		t.Errorf("errors\n%v\nwant\n%s", err, want)
	}
	if _, err := decode(t, "- path: x"); err == nil || err.Error() != "1:1: sysfs: want keys and values, found a list" {
		t.Errorf("a list: %v", err)
	}
}

func FuzzDecodeConfig(f *testing.F) {
	f.Add("path: /sys\ninterval: 1s\nethtool: kernel\n")
	f.Add("interval: &a [1]\nnode: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decode(t, text)
		if err != nil {
			return
		}
		c.Node = "h1"
		if _, err := New(c); err != nil {
			t.Errorf("decoded from %q and refused: %v", text, err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]Config{
		"too often": {Every: 1e8}, "too rarely": {Every: 1e15}, "long name": {Node: strings.Repeat("x", 200)},
		"unstatable": {Node: "a|b"}, "not text": {Node: "a\nb"},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c, err := New(Config{})
	if err != nil || c.cfg.Path != "/sys" || c.cfg.Ethtool != KernelStats || c.cfg.Every != 1e9 || c.cfg.Node == "" || c.Target() != "/sys" {
		t.Errorf("defaults: %+v, %v", c.cfg, err)
	}
	if c, err := New(Config{Path: "/elsewhere"}); err != nil || c.cfg.Ethtool != NoStats {
		t.Errorf("another tree: %+v, %v", c.cfg, err)
	}
}

// FuzzTree reads a tree with one file of any name and any content, and any
// content in every other kind of file: no record of it may be one that the log
// refuses, and nothing may panic.
func FuzzTree(f *testing.F) {
	f.Add("SwLinkUp,32", "17", "4: ACTIVE", uint8(0))
	f.Add("port_xmit_data", "99999999999999999999", "N/A", uint8(3))
	f.Add("lifespan", "18446744073709551615", "10 Gb/sec (4X SDR)", uint8(7))
	f.Fuzz(func(t *testing.T, name, number, text string, where uint8) {
		if name == "" || strings.Contains(name, "/") || name == "." || name == ".." || strings.HasPrefix(number, "-> ") || strings.HasPrefix(text, "-> ") {
			return
		}
		var files []txtar.File
		add := func(n, s string) { files = append(files, txtar.File{Name: n, Data: []byte(s)}) }
		dev := []string{"mlx5_0", name, "efa_0", "irdma0"}[where%4]
		for i, dir := range []string{countersDir, hardwareDir, countersExtDir} {
			add(fmt.Sprintf("class/infiniband/%s/ports/%d/%s/%s", dev, 1+i%2, dir, name), number)
		}
		for _, n := range []string{"node_guid", "node_type", "fw_ver", "device/numa_node", "device/current_link_width", "device/max_link_speed"} {
			add("class/infiniband/"+dev+"/"+n, text)
		}
		for _, n := range []string{"state", "phys_state", "rate", "link_layer", "gid_attrs/ndevs/0"} {
			add("class/infiniband/"+dev+"/ports/1/"+n, text)
		}
		add("class/net/"+name+"/qos/trust", text)
		c, err := New(Config{Path: "fuzzed", Node: "h1"})
		if err != nil {
			t.Fatal(err)
		}
		tr := grow(files)
		c.tree = tr
		sink := collectorstest.Strict{T: t}
		for range 2 {
			if err := c.Once(t.Context(), sink); err != nil {
				t.Fatal(err)
			}
		}
		if tr.opened != 0 {
			t.Errorf("%d files are still open", tr.opened)
		}
	})
}
