package sysfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Errors of a tree as a whole.
var (
	// ErrNoDevice means that the host has no RDMA device.
	ErrNoDevice = errors.New("no RDMA device")
	// ErrNoTree means that what is to be read is not a sysfs tree.
	ErrNoTree = errors.New("not a sysfs tree")
)

// Bounds of a tree.
const (
	maxDevices = 256
	maxPorts   = 64   // of a device
	maxEntries = 1024 // of a folder of counters
	maxBehind  = 16   // network interfaces behind a port
	maxGIDs    = 256
)

const classDir = "class/infiniband"

// device is an RDMA device as it was found.
type device struct {
	name   string
	dir    string // of its attributes
	bus    string // of the PCI function or whatever else it is on; "" if not known
	driver string // as its tables are named: mlx5, bnxt_re …
	module string // as the kernel names it: mlx5_core, bnxt_en …
	pci    string // "0000:1a:00.0", or ""
	guid   string
	ports  []*port
}

// port is one port of it.
type port struct {
	device    *device
	number    int
	dir       string
	transport transport
	layer     string // link_layer as it is written
	behind    []netdev
}

// netdev is a network interface behind a port.
type netdev struct {
	name   string
	dir    string // class/net/<name>, or where else it is
	module string
}

// identity names a device across renaming, where its bus address is known.
func (d *device) identity() string {
	if d.pci == "" {
		return "device " + d.name
	}
	return "device " + d.pci + " " + d.guid
}

// identity names a port across renaming.
func (p *port) identity() string { return p.device.identity() + " port " + strconv.Itoa(p.number) }

// scan finds the devices of a tree and returns them by name. What is too much
// is left out and counted in over.
func scan(t tree, v *vocabulary) (found []*device, over int, err error) {
	dirs, err := deviceDirs(t)
	if err != nil {
		return nil, 0, err
	}
	if len(dirs) > maxDevices {
		over, dirs = len(dirs)-maxDevices, dirs[:maxDevices]
	}
	for _, dir := range dirs {
		d := &device{name: path.Base(dir), dir: dir, bus: path.Join(dir, "device")}
		if owner, _, ok := strings.Cut(dir, "/infiniband/"); ok && strings.HasPrefix(dir, pciDir) {
			d.bus = owner
		}
		over += d.look(t, v)
		found = append(found, d)
	}
	return found, over, nil
}

const pciDir = "bus/pci/devices"

// deviceDirs returns the folder of each device, by name.
func deviceDirs(t tree) ([]string, error) {
	names, err := t.list(classDir)
	if err == nil {
		return devicesIn(classDir, names)
	}
	top, topErr := t.list(".")
	if topErr != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTree, topErr)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", classDir, err)
	}
	if own := recordedClass(t, top); len(own) > 0 {
		return devicesIn(".", own)
	}
	if byBus := devicesByBus(t); len(byBus) > 0 {
		return byBus, nil
	}
	switch {
	case slices.Contains(top, "class") || isDir(t, pciDir):
	case slices.Contains(top, "sys"):
		return nil, fmt.Errorf("%w: but it has a folder sys; give that", ErrNoTree)
	default:
		return nil, fmt.Errorf("%w: it has neither class nor %s, nor devices with ports", ErrNoTree, pciDir)
	}
	return nil, fmt.Errorf("%w: there is no %s, so no RDMA driver is loaded on this host", ErrNoDevice, classDir)
}

func devicesIn(dir string, names []string) ([]string, error) {
	var out []string
	for _, n := range names {
		out = append(out, path.Join(dir, n))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s is empty, so the RDMA modules are loaded and no adapter is there for them", ErrNoDevice, classDir)
	}
	slices.SortFunc(out, natural)
	return out, nil
}

// recordedClass finds devices where the root itself is a recorded
// class/infiniband.
func recordedClass(t tree, top []string) (out []string) {
	for _, n := range top[:min(len(top), maxEntries)] {
		if isDir(t, path.Join(n, "ports")) {
			out = append(out, n)
		}
	}
	return out
}

// devicesByBus finds devices from their PCI functions: recorded inventories
// have no class.
func devicesByBus(t tree) (out []string) {
	functions, err := t.list(pciDir)
	if err != nil {
		return nil
	}
	for _, f := range functions {
		dir := path.Join(pciDir, f, "infiniband")
		names, err := t.list(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			out = append(out, path.Join(dir, n))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return natural(path.Base(a), path.Base(b)) })
	return out
}

// natural orders mlx5_2 before mlx5_10.
func natural(a, b string) int { return cmp.Or(byNumbers(a, b), strings.Compare(a, b)) }

func byNumbers(a, b string) int {
	for a != "" && b != "" {
		na, ra, oka := leadingNumber(a)
		nb, rb, okb := leadingNumber(b)
		switch {
		case oka && okb && na != nb:
			return cmp.Compare(na, nb)
		case oka && okb:
			a, b = ra, rb
		case a[0] != b[0]:
			return int(a[0]) - int(b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return len(a) - len(b)
}

func leadingNumber(s string) (n uint64, rest string, ok bool) {
	i := 0
	for ; i < len(s) && i < 18 && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + uint64(s[i]-'0')
	}
	return n, s[i:], i > 0
}

// look reads what a device is and finds its ports. It returns how many ports
// and interfaces are too many.
func (d *device) look(t tree, v *vocabulary) (over int) {
	if target, err := t.link(d.bus); err == nil {
		d.pci = address(path.Base(target))
	} else if strings.HasPrefix(d.bus, pciDir) {
		d.pci = address(path.Base(d.bus))
	}
	if target, err := t.link(path.Join(d.bus, "driver")); err == nil {
		d.module = path.Base(target)
	}
	d.guid, _ = readText(t, path.Join(d.dir, "node_guid")) // "" if it has none
	kind, _ := readText(t, path.Join(d.dir, "node_type"))
	numbers := portNumbers(t, d.dir)
	if len(numbers) > maxPorts {
		over, numbers = len(numbers)-maxPorts, numbers[:maxPorts]
	}
	for _, n := range numbers {
		d.ports = append(d.ports, &port{device: d, number: n, dir: path.Join(d.dir, "ports", strconv.Itoa(n))})
	}
	d.driver = driverOf(d.module, d.name, d.files(t), v)
	for _, p := range d.ports {
		p.layer, _ = readText(t, path.Join(p.dir, "link_layer"))
		p.layer, _, _ = strings.Cut(p.layer, "\n")
		p.transport = transportOf(p.layer, kind, d.driver)
		p.behind = behind(t, p)
		if len(p.behind) > maxBehind {
			over += len(p.behind) - maxBehind
			p.behind = p.behind[:maxBehind]
		}
	}
	return over
}

// address returns s if it is a PCI address, "0000:1a:00.0".
func address(s string) string {
	domain, rest, ok := strings.Cut(s, ":")
	if !ok || len(domain) < 4 || len(rest) != len("1a:00.0") || rest[2] != ':' || rest[5] != '.' {
		return ""
	}
	return s
}

func portNumbers(t tree, dir string) (out []int) {
	names, err := t.list(path.Join(dir, "ports"))
	if err != nil {
		return nil
	}
	for _, n := range names {
		if i, err := strconv.Atoi(n); err == nil && i >= 0 && i < 1<<16 && strconv.Itoa(i) == n {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// files lists every file of hw_counters of a device.
func (d *device) files(t tree) (out []string) {
	dirs := []string{path.Join(d.dir, hardwareDir)}
	for _, p := range d.ports {
		dirs = append(dirs, path.Join(p.dir, hardwareDir))
	}
	for _, dir := range dirs {
		names, err := t.list(dir)
		if err == nil {
			out = append(out, names[:min(len(names), maxEntries)]...)
		}
	}
	return out
}

// modules are kernel modules whose RDMA driver has another name.
const modules = `
mlx5_core mlx5
mlx5_core.sf mlx5
mlx4_core mlx4
bnxt_en   bnxt_re
ice       irdma
i40e      irdma
idpf      irdma
hns3      hns
hns_roce_hw_v2 hns
mana_ib   mana
`

// signs are files that only one driver has, for where the module is not known.
const signs = `
roce_adp_retrans       mlx5
out_of_sequence        mlx5
res_exceed_max         bnxt_re
unrecoverable_err      bnxt_re
ip4InDiscards          irdma
RxECNMrkd              irdma
aeqe                   hns
posted_mbx             hns
submitted_cmds         efa
rdma_read_wr_err       efa
requester_oos_nak      mana
req_tx_retry_excd_err  ionic
`

// driverOf returns the driver whose counters a device has: from the module where
// that is known, else from a file that only one driver has, else from the device's
// name as the driver would give it.
func driverOf(module, name string, files []string, v *vocabulary) string {
	for line := range strings.Lines(modules) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == module {
			return f[1]
		}
	}
	if module != "" {
		return module
	}
	for line := range strings.Lines(signs) {
		if f := strings.Fields(line); len(f) == 2 && slices.Contains(files, f[0]) {
			return f[1]
		}
	}
	stem := strings.TrimRight(name, "0123456789")
	stem = strings.TrimSuffix(strings.TrimSuffix(stem, "_"), "_bond")
	if _, ok := v.hardware[stem]; ok || stem == "mlx4" || stem == "hfi1" {
		return stem
	}
	return ""
}

// transportOf distinguishes InfiniBand, RoCE, iWARP and other transports.
func transportOf(layer, kind, driver string) transport {
	kind, _, _ = strings.Cut(kind, ":")
	switch {
	case layer == "InfiniBand":
		return infiniband
	case driver == "efa":
		return efa
	case kind == "4", driver == "i40iw":
		return iwarp
	case kind == "5", kind == "6", driver == "usnic", driver == "enic":
		return usnic
	case layer == "Ethernet":
		return roce
	case layer == "" && (driver == "mlx4" || driver == "hfi1" || driver == "ib_qib" || driver == "ib_mthca"):
		return infiniband // kernels before link_layer had nothing else
	}
	return unknown
}
