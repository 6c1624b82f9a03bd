package sysfs

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// behind finds the physical network interfaces of a port: those that its GIDs
// name, with a bond or VLAN taken apart, else those of the same PCI function.
func behind(t tree, p *port) []netdev {
	var names []string
	add := func(list []string) {
		for _, n := range list {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	for _, n := range gidInterfaces(t, p.dir) {
		add(physical(t, n, 0))
	}
	if len(names) == 0 {
		add(siblings(t, p))
	}
	slices.SortFunc(names, natural)
	out := make([]netdev, len(names))
	for i, n := range names {
		out[i] = netdev{name: n, dir: path.Join("class/net", n)}
		if own := path.Join(p.device.bus, "net", n); isDir(t, own) && !isDir(t, out[i].dir) {
			out[i].dir = own
		}
		if target, err := t.link(path.Join(out[i].dir, "device/driver")); err == nil {
			out[i].module = path.Base(target)
		} else {
			out[i].module = p.device.module
		}
	}
	return out
}

// gidInterfaces returns the interfaces that a port's GIDs belong to. An empty
// slot cannot be read.
func gidInterfaces(t tree, dir string) (out []string) {
	slots, err := t.list(path.Join(dir, "gid_attrs/ndevs"))
	if err != nil {
		return nil
	}
	for _, s := range slots[:min(len(slots), maxGIDs)] {
		n, err := readText(t, path.Join(dir, "gid_attrs/ndevs", s))
		if err == nil && n != "" && !strings.ContainsAny(n, "/\n") && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// physical takes an interface apart: one with a device is physical, of any
// other those below it.
func physical(t tree, name string, depth int) (out []string) {
	dir := path.Join("class/net", name)
	if isDir(t, path.Join(dir, "device")) {
		return []string{name}
	}
	entries, err := t.list(dir)
	if err != nil || depth > 4 {
		return nil
	}
	for _, e := range entries {
		if lower, ok := strings.CutPrefix(e, "lower_"); ok {
			out = append(out, physical(t, lower, depth+1)...)
		}
	}
	return out[:min(len(out), maxBehind)]
}

// siblings returns the interfaces of a port's PCI function: all of them if the
// device has one port, else those that report being of this one.
func siblings(t tree, p *port) (out []string) {
	dir := path.Join(p.device.bus, "net")
	names, err := t.list(dir)
	if err != nil {
		return nil
	}
	for _, n := range names {
		if len(p.device.ports) > 1 {
			text, err := readText(t, path.Join(dir, n, "dev_port"))
			if err != nil || text != strconv.Itoa(p.number-1) {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}
