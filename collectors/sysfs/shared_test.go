package sysfs

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/sysfs/ethtool"
)

// shared returns a folder of recordings beside a checkout.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("../../../shared/fixtures", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("../shared is not there")
	}
	return dir
}

// recording is the expected content of a recording of others: not its text, which
// is theirs, but how many lines, their digest, and a few of them.
type recording struct {
	lines  int
	digest string
	has    []string
}

func (r recording) check(t *testing.T, got string) {
	t.Helper()
	samples, _, _ := strings.Cut(got, "# EOF\n")
	if n := strings.Count(samples, "\n"); n != r.lines {
		t.Errorf("%d samples, want %d", n, r.lines)
	}
	if d := fmt.Sprintf("%x", sha256.Sum256([]byte(got)))[:16]; d != r.digest {
		t.Errorf("digest %s, want %s", d, r.digest)
		t.Log(got)
	}
	for _, want := range r.has {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("it does not say %s", want)
		}
	}
}

// Eight InfiniBand ports and a bonded Ethernet one of an H100 host.
func TestSharedH100(t *testing.T) {
	c := Config{Path: shared(t, "sysfs/gpud_h100"), Node: "h1"}
	recording{475, "b1b0257913e92082", []string{
		`port_link_downs_total{kind="nic",name="h1/mlx5_1"} 255`,
		`port_buffer_overruns_total{kind="nic",name="h1/mlx5_9"} 15`,
		`port_tx_bytes_total{kind="nic",name="h1/mlx5_0"} 921770677727356`,
		`rdma_tx_bytes_total{kind="nic",name="h1/mlx5_bond_0"} 921770677727356`,
		`port_speed_bits_per_second{kind="nic",name="h1/mlx5_4"} 400000000000`,
		`port_speed_bits_per_second{kind="nic",name="h1/mlx5_bond_0"} 200000000000`,
		`roce_counter_lifespan_seconds{kind="nic",name="h1/mlx5_5"} 0.012`,
		`port_xmit_wait_ticks_total{kind="nic",name="h1/mlx5_6"} 2489603687`,
	}}.check(t, once(t, c, nil))
	complete(t, c, disk{c.Path})
}

// Omni-Path, an old InfiniBand card with two ports, and a physical state that is
// none.
func TestSharedMixed(t *testing.T) {
	c := Config{Path: shared(t, "sysfs/procfs/sys"), Node: "h1"}
	recording{129, "da72e350294f5541", []string{
		`port_physical_state{kind="nic",name="h1/mlx5_0"} NaN`,
		`port_tx_bytes_total{kind="nic",name="h1/mlx5_0"} 11523046035392`,
		`port_rx_bytes_total{kind="nic",name="h1/hfi1_0"} 1380366808104`,
		`port_xmit_wait_ticks_total{kind="nic",name="h1/mlx4_0:2"} 3846`,
		`port_speed_bits_per_second{kind="nic",name="h1/mlx5_0"} 25000000000`,
		`port_ecn_enabled{kind="queue",name="h1/eth0/3"} 1`,
		`dropped malformed 1`,
	}}.check(t, once(t, c, nil))
	complete(t, c, disk{c.Path})
}

// Inventories of GPU nodes, which are maps from path to text: devices are found
// by their PCI functions.
func TestSharedInventories(t *testing.T) {
	dir := shared(t, "sysfs/gcm")
	for name, want := range map[string]recording{
		"learn_good":                       {32, "b2f008a97a20d781", []string{`port_up{kind="nic",name="h1/mlx5_8"} 1`, `port_speed_bits_per_second{kind="nic",name="h1/mlx5_8"} 200000000000`}},
		"learn_ib_intf_bad_rate":           {32, "a6ac92104bf2f167", []string{`port_speed_bits_per_second{kind="nic",name="h1/mlx5_8"} 100000000000`}},
		"learn_ib_intf_operstate_down":     {32, "b2f008a97a20d781", nil},
		"compute_samsung980pro":            {32, "b2f008a97a20d781", nil},
		"compute_samsung980pro-downgraded": {32, "c900eb361aa53b4f", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var m map[string]string
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatal(err)
			}
			var files []txtar.File
			for k, v := range m {
				files = append(files, txtar.File{Name: strings.TrimPrefix(k, "/sys/"), Data: []byte(v)})
			}
			c := Config{Path: "recorded", Node: "h1"}
			want.check(t, once(t, c, grow(files)))
			complete(t, c, grow(files))
		})
	}
}

// What is no tree is refused with the reason.
func TestSharedRefused(t *testing.T) {
	for name, want := range map[string]string{
		"sysfs/gcm":                 "neither class nor",
		"sysfs/gcm/learn_good.json": "not a directory",
		"sysfs/node_exporter":       "neither class nor",
		"sysfs/node_exporter/e2e-output.infiniband.prom": "not a directory",
		"sysfs/procfs":                  "it has a folder sys",
		"ethtool":                       "neither class nor",
		"sysfs/procfs/sys/class/nosuch": "no such file",
	} {
		c, err := New(Config{Path: filepath.Join(shared(t, ""), name), Node: "h1"})
		if err != nil {
			t.Fatal(err)
		}
		p := collectors.NewPrinter()
		if err := c.Once(t.Context(), p); !errors.Is(err, ErrNoTree) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err := c.Run(t.Context(), p); !errors.Is(err, ErrNoTree) {
			t.Errorf("run %s: %v", name, err)
		}
	}
}

// behindListing reads the statistics of an interface behind an otherwise bare
// device.
func behindListing(t *testing.T, dir, module, name string, all bool) (string, *plan) {
	t.Helper()
	f := grow([]txtar.File{
		{Name: "devices/0000:44:00.0/infiniband/dev0/device", Data: []byte("-> ../../../0000:44:00.0")},
		{Name: "devices/0000:44:00.0/driver", Data: []byte("-> ../../drivers/" + module)},
		{Name: "devices/0000:44:00.0/net/" + name + "/mtu", Data: []byte("1500")},
		{Name: "devices/0000:44:00.0/infiniband/dev0/ports/1/link_layer", Data: []byte("Ethernet")},
		{Name: "class/infiniband/dev0", Data: []byte("-> ../../devices/0000:44:00.0/infiniband/dev0")},
	})
	c := Config{Path: "recorded", Node: "h1", Ethtool: dir, AllStatistics: all}
	col, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	col.tree = f
	r, err := col.newReader(collectors.NewPrinter())
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	p, err := r.newPlan()
	if err != nil {
		t.Fatal(err)
	}
	return once(t, c, f), p
}

// Every statistic is read into some series or left out for a reason.
func TestSharedStatistics(t *testing.T) {
	for _, c := range []struct {
		dir, module, name string
		all               bool
		want              recording
	}{
		{"ethtool/amd_ainic", "ionic", "enp68s0", false, recording{58, "e965c79807607321", []string{
			`port_rx_bytes_total{kind="nic",name="h1/dev0"} 306471174847120`,
			`port_tx_bytes_total{kind="nic",name="h1/dev0"} 509011967971838`,
			`ionic_tx_all_frames_total{kind="nic",name="h1/dev0"} 470001797593`,
			`port_pfc_rx_pause_seconds_total{kind="queue",name="h1/dev0/3"} 0`,
		}}},
		{"ethtool/amd_ainic", "ionic", "enp68s0", true, recording{612, "d5e050793c9e8001", nil}},
		{"ethtool/amd_ainic", "ionic", "enp132s0v0", false, recording{58, "17b2a7b33cf99dac", nil}},
		{"ethtool/node_exporter", "e1000e", "eth0", false, recording{0, "f0451ceb9fcaf1fd", nil}},
		{"ethtool/node_exporter", "e1000e", "eth0", true, recording{16, "933561a3b2d0fd9a", []string{
			`ethtool_e1000e_duplicate_metric{kind="nic",name="h1/dev0"} 1`,
			`ethtool_e1000e_duplicate_metric_2{kind="nic",name="h1/dev0"} 2`,
			`ethtool_e1000e_port_rx_dropped{kind="nic",name="h1/dev0"} 12028`,
		}}},
	} {
		t.Run(fmt.Sprintf("%s %t", c.name, c.all), func(t *testing.T) {
			dir := shared(t, c.dir)
			got, p := behindListing(t, dir, c.module, c.name, c.all)
			c.want.check(t, got)
			in, err := ethtool.Recorded(dir).Open(c.name)
			if err != nil {
				t.Fatal(err)
			}
			s := p.groups[len(p.groups)-1].stats
			left := p.dropped[collectors.Skipped] + p.dropped[collectors.Unknown]
			if s == nil || s.bound+left+s.known-s.bound != len(in.Names()) {
				t.Errorf("of %d statistics %+v are read and %d left out", len(in.Names()), s, left)
			}
		})
	}
	got, _ := behindListing(t, shared(t, "ethtool/node_exporter"), "bonding", "bond0", false)
	if !strings.Contains(got, "dropped malformed 1\n") {
		t.Errorf("a listing that is none: %s", got)
	}
}

// The names of ionic's counters are those that a recording has.
func TestSharedIonicNames(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(shared(t, "ethtool/amd_ainic"), "rdma_statistic_j.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for file := range newVocabulary().hardware["ionic"] {
		if !strings.Contains(string(b), `"`+file+`"`) {
			t.Errorf("%s is not in the recording", file)
		}
	}
}
