package logs

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// names are the tables that map the names in a line to the names of the site.
type names struct {
	cfg   *Config
	gpus  map[string]string // by PCI address, learned of this host
	nics  map[string]string // by PCI address and interface, learned
	next  time.Time         // when learning may be tried again
	clock func() time.Time
}

func newNames(c *Config, clock func() time.Time) *names {
	return &names{cfg: c, clock: clock}
}

// lookup finds the entry of a table for a key in a line of a host. Configured
// entries hold for every host that it reads; learned ones for its own.
func (t *names) lookup(table, host, key string) (string, bool) {
	if key == "" {
		return "", false
	}
	switch table {
	case portTable:
		if v, ok := t.cfg.Ports[host+"/"+key]; ok {
			return v, true
		}
		return key, true
	case subnetTable:
		if v, ok := t.cfg.Subnets[key]; ok {
			return v, true
		}
		return key, true
	}
	given, learned := t.cfg.GPUs, &t.gpus
	if table == nicTable {
		given, learned = t.cfg.NICs, &t.nics
	}
	if a, ok := address(key); ok {
		key = a
	}
	if v, ok := given[key]; ok {
		return v, true
	}
	if host != t.cfg.Node {
		return "", false
	}
	v, ok := (*learned)[key]
	if now := t.clock(); !ok && !now.Before(t.next) {
		t.next = now.Add(time.Minute)
		t.gpus, t.nics = learnGPUs(t.cfg.GPUsFrom), learnNICs(t.cfg.NICsFrom)
		v, ok = (*learned)[key]
	}
	return v, ok
}

// address writes a PCI address in one form, 0000:1a:00.0; false where s is not an
// address. The driver leaves out the function, the fabric manager has a domain of
// eight digits.
func address(s string) (string, bool) {
	s = strings.ToLower(s)
	f := strings.Split(s, ":")
	if len(f) == 2 {
		f = append([]string{"0"}, f...)
	}
	if len(f) != 3 {
		return "", false
	}
	device, function, ok := strings.Cut(f[2], ".")
	if !ok {
		function = "0"
	}
	var v [4]uint64
	for i, x := range []string{f[0], f[1], device, function} {
		n, err := strconv.ParseUint(x, 16, 32)
		if err != nil || i > 0 && n > 0xff {
			return "", false
		}
		v[i] = n
	}
	hex := func(n uint64, least int) string {
		s := strconv.FormatUint(n, 16)
		return strings.Repeat("0", max(0, least-len(s))) + s
	}
	return hex(v[0], 4) + ":" + hex(v[1], 2) + ":" + hex(v[2], 2) + "." + hex(v[3], 1), true
}

// maxDevices bounds what is learned.
const maxDevices = 1024

// learnGPUs numbers GPUs by their PCI addresses, as NVML does: from a folder
// whose entries are the addresses (/proc/driver/nvidia/gpus), or from what
// lspci prints.
func learnGPUs(from string) map[string]string {
	var all []string
	if list, err := os.ReadDir(from); err == nil {
		for _, e := range list {
			if a, ok := address(e.Name()); ok {
				all = append(all, a)
			}
		}
	} else if f, err := os.Open(from); err == nil {
		defer f.Close()
		for in := bufio.NewScanner(f); in.Scan() && len(all) < maxDevices; {
			word, rest, _ := strings.Cut(in.Text(), " ")
			if a, ok := address(word); ok && strings.Contains(rest, "NVIDIA") && (strings.HasPrefix(rest, "3D controller") || strings.HasPrefix(rest, "VGA compatible controller")) {
				all = append(all, a)
			}
		}
	}
	slices.Sort(all)
	out := map[string]string{}
	for i, a := range all[:min(len(all), maxDevices)] {
		out[a] = strconv.Itoa(i)
	}
	return out
}

// learnNICs reads the RDMA devices of a tree such as /sys/class/infiniband:
// their PCI addresses and network interfaces.
func learnNICs(from string) map[string]string {
	out := map[string]string{}
	list, err := os.ReadDir(from)
	if err != nil {
		return out
	}
	for _, e := range list[:min(len(list), maxDevices)] {
		name := e.Name()
		out[name] = name
		device := filepath.Join(from, name, "device")
		if to, err := filepath.EvalSymlinks(device); err == nil {
			if a, ok := address(filepath.Base(to)); ok {
				out[a] = name
			}
		}
		faces, _ := os.ReadDir(filepath.Join(device, "net"))
		for _, f := range faces {
			out[f.Name()] = name
		}
	}
	return out
}
