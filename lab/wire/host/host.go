package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states where the trees are kept.
type Config struct {
	// Dir is an existing folder; each host has a folder of its own in it.
	Dir string
}

// Fleet is the hosts of a site.
type Fleet struct {
	board    *board.Board
	dir      string
	adapters []*adapter
	nodes    []telemetry.Entity
	written  map[string]string // by path: what the file holds
}

// adapter is one NIC of a host.
type adapter struct {
	entity telemetry.Entity
	port   string            // folder of its port
	bus    string            // folder of its PCI function
	net    string            // folder of its interface
	stats  string            // file of ethtool's statistics
	shows  []shown           // what they are
	narrow bool              // counters/ has RDMA alone: it is Ethernet
	fixed  map[string]string // by path: what never changes
	line   line
}

// New lays out the trees of a site's hosts.
func New(b *board.Board, c Config) (*Fleet, error) {
	f := &Fleet{board: b, dir: c.Dir, written: map[string]string{}}
	for _, n := range b.Entities(telemetry.Node) {
		nics := 0
		for _, x := range b.Inside(n) {
			if x.Kind != telemetry.NIC {
				continue
			}
			a, err := f.layOut(n, x, nics)
			if err != nil {
				return nil, err
			}
			f.adapters = append(f.adapters, a)
			nics++
		}
		if nics > 0 {
			f.nodes = append(f.nodes, n)
		}
	}
	return f, f.write()
}

// infiniBand states that an adapter's port counts credits.
func (f *Fleet) infiniBand(x telemetry.Entity) bool {
	_, ok := f.board.Read(x, "port_xmit_wait_ticks_total")
	return ok
}

func (f *Fleet) layOut(n, x telemetry.Entity, number int) (*adapter, error) {
	device := x.Name[strings.LastIndexByte(x.Name, '/')+1:]
	root := filepath.Join(f.dir, n.Name)
	sys := filepath.Join(root, "sys")
	ib := filepath.Join(sys, "class", "infiniband", device)
	a := &adapter{entity: x, port: filepath.Join(ib, "ports", "1"), bus: filepath.Join(ib, "device")}
	fixed := map[string]string{
		filepath.Join(ib, "fw_ver"):               "28.43.1014",
		filepath.Join(ib, "hca_type"):             "MT4129",
		filepath.Join(a.sensors(), "name"):        "mlx5",
		filepath.Join(a.sensors(), "temp2_label"): "Module0",
		filepath.Join(ib, "node_guid"):            fmt.Sprintf("b83f:d203:00%02x:%04x", number, len(f.adapters)+1),
	}
	layer, name, mtu := "InfiniBand", fmt.Sprintf("ib%d", number), "2044"
	a.shows = overIP
	if !f.infiniBand(x) {
		layer, name, mtu = "Ethernet", fmt.Sprintf("rdma%d", number), "9000"
		a.shows, a.narrow = statistics, true
	}
	a.net = filepath.Join(sys, "class", "net", name)
	a.stats = filepath.Join(root, "ethtool", name, "statistics")
	fixed[filepath.Join(a.bus, "net", name, "mtu")] = mtu
	fixed[filepath.Join(a.net, "mtu")] = mtu
	fixed[filepath.Join(a.net, "dev_port")] = "0"
	fixed[filepath.Join(a.port, "link_layer")] = layer
	a.fixed = fixed
	for path, text := range fixed {
		if err := f.put(path, text); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Run keeps the files current until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	for f.board.Wait(ctx) == nil {
		if err := f.write(); err != nil {
			return err
		}
	}
	return nil
}

// Addresses lists where each host's tree is.
func (f *Fleet) Addresses() []string {
	var out []string
	for _, n := range f.nodes {
		out = append(out, n.Name+" "+filepath.Join(f.dir, n.Name, "sys"))
	}
	return out
}

// Entries are what "collectors: sysfs:" must list to read these hosts.
func (f *Fleet) Entries() []map[string]any {
	var out []map[string]any
	for _, n := range f.nodes {
		e := map[string]any{"node": n.Name, "path": filepath.Join(f.dir, n.Name, "sys"), "interval": time.Second.String()}
		if tool := filepath.Join(f.dir, n.Name, "ethtool"); isDir(tool) {
			e["ethtool"] = tool
		}
		out = append(out, e)
	}
	return out
}

func isDir(path string) bool {
	i, err := os.Stat(path)
	return err == nil && i.IsDir()
}

// put writes a file; one that holds the text already is left alone.
func (f *Fleet) put(path, text string) error {
	if f.written[path] == text {
		return nil
	}
	if _, ok := f.written[path]; !ok {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	}
	f.written[path] = text
	return replace(path, text+"\n")
}

// replace writes in place what fits in place: a reader that keeps the file open,
// as one of sysfs does, must find the new text in it.
func replace(path, text string) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	// One write at the beginning; what an earlier, longer text left behind it is
	// cut off after that. Counters only grow.
	_, err = w.WriteAt([]byte(text), 0)
	if err == nil {
		err = w.Truncate(int64(len(text)))
	}
	if other := w.Close(); err == nil {
		err = other
	}
	return err
}
