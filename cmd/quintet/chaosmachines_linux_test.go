package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The machines of the chaos test are network namespaces with addresses of their
// own on a bridge. The test itself runs in a namespace that has the bridge and the
// simulated devices; these answer on loopback only, so that packets between a
// device and a collector are redirected on both sides.

const (
	chaosNet     = "10.77.0."
	labAddress   = chaosNet + "254"
	natsPort     = "4222"
	natsMonitor  = "8222"
	collectsPage = "127.0.0.1:8420"
)

// machine is one network namespace with one process.
type machine struct {
	c       *chaos
	name    string
	address string
	kind    string     // nats, engine, notify or collect
	command []string   // of the process
	disk    *chaosDisk // its data folder; nil is a folder of the machine that runs the test
	proc    *process
	clock   *clock
}

// shell runs a command and fails the test where it fails.
func (c *chaos) shell(command ...string) {
	c.t.Helper()
	if out, err := exec.CommandContext(c.ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
}

// bridge sets up the test's own namespace.
func (c *chaos) bridge() {
	c.shell("mount", "-t", "tmpfs", "tmpfs", "/run/netns", "-o", "X-mount.mkdir")
	c.shell("ip", "link", "set", "lo", "up")
	c.shell("ip", "link", "add", "br0", "type", "bridge")
	c.shell("ip", "address", "add", labAddress+"/24", "dev", "br0")
	c.shell("ip", "link", "set", "br0", "up")
	c.shell("sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
	c.shell("iptables", "-t", "nat", "-A", "PREROUTING", "-i", "br0", "-d", labAddress, "-j", "DNAT", "--to-destination", "127.0.0.1")
	c.shell("iptables", "-t", "nat", "-A", "POSTROUTING", "-s", "127.0.0.0/8", "-o", "br0", "-j", "MASQUERADE")
}

// machine makes a machine with the next address.
func (c *chaos) machine(name, kind string) *machine {
	m := &machine{c: c, name: name, kind: kind, address: fmt.Sprint(chaosNet, 11+len(c.machines))}
	c.shell("ip", "netns", "add", name)
	c.shell("ip", "link", "add", "to-"+name, "type", "veth", "peer", "name", "eth0", "netns", name)
	c.shell("ip", "link", "set", "to-"+name, "master", "br0", "up")
	m.inside("ip", "address", "add", m.address+"/24", "dev", "eth0")
	m.inside("ip", "link", "set", "eth0", "up")
	m.inside("ip", "link", "set", "lo", "up")
	c.machines = append(c.machines, m)
	return m
}

// inside runs a command in the machine's namespace.
func (m *machine) inside(command ...string) {
	m.c.t.Helper()
	m.c.shell(append([]string{"ip", "netns", "exec", m.name}, command...)...)
}

// reads redirects what a collector dials on its loopback to the site's devices.
func (m *machine) reads() {
	m.inside("sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
	m.inside("iptables", "-t", "nat", "-A", "OUTPUT", "-p", "tcp", "-d", "127.0.0.1", "-j", "DNAT", "--to-destination", labAddress)
	m.inside("iptables", "-t", "nat", "-A", "POSTROUTING", "-s", "127.0.0.0/8", "-o", "eth0", "-j", "MASQUERADE")
}

// takes redirects what the site's devices send to an address of loopback to a
// collector that listens there.
func (m *machine) takes(protocol, address string) {
	port := address[strings.LastIndex(address, ":")+1:]
	m.c.shell("iptables", "-t", "nat", "-A", "OUTPUT", "-p", protocol, "-d", "127.0.0.1", "--dport", port, "-j", "DNAT", "--to-destination", m.address)
	m.inside("iptables", "-t", "nat", "-A", "PREROUTING", "-i", "eth0", "-p", protocol, "-d", m.address, "--dport", port, "-j", "DNAT", "--to-destination", "127.0.0.1")
}

// start starts the machine's process.
func (m *machine) start() {
	m.c.t.Helper()
	m.proc = m.c.site.launch(append([]string{"ip", "netns", "exec", m.name}, m.command...))
	m.clock = nil
}

// running reports whether the process has not ended by itself.
func (m *machine) running() bool {
	select {
	case <-m.proc.exited:
		return false
	default:
		return true
	}
}

// launch starts a command; it is killed at the end of the test at the latest.
func (s *site) launch(command []string) *process {
	s.t.Helper()
	p := &process{cmd: exec.Command(command[0], command[1:]...), said: &lockedBuffer{}, exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	s.t.Cleanup(p.kill)
	return p
}

// natsServers starts three servers of one cluster.
func (c *chaos) natsServers(program string) {
	var routes []string
	for i := range 3 {
		routes = append(routes, "nats://"+fmt.Sprint(chaosNet, 11+i)+":6222")
		c.urls = append(c.urls, "nats://"+fmt.Sprint(chaosNet, 11+i)+":"+natsPort)
	}
	for i := range 3 {
		m := c.machine(fmt.Sprint("nats", i+1), "nats")
		m.disk = c.smallDisk(m.name, 256<<20, i == 2)
		path := c.site.path(m.name + ".conf")
		c.site.write(m.name+".conf", fmt.Sprintf(`server_name: %s
listen: "%s:%s"
http: "%s:%s"
max_payload: 8388608
jetstream { store_dir: "%s", sync_interval: 1s, max_file_store: 64GB }
cluster { name: site, listen: "%s:6222", routes: [%s] }
`, m.name, m.address, natsPort, m.address, natsMonitor, filepath.Join(m.disk.dir, "js"), m.address, strings.Join(routes, ", ")))
		m.command = []string{program, "-c", path}
		m.start()
	}
}

// leader asks the servers which of them leads the log; nil where none knows.
func (c *chaos) leader() *machine {
	for _, m := range c.machines {
		if m.kind != "nats" {
			continue
		}
		var body struct {
			Accounts []struct {
				Streams []struct {
					Name    string
					Cluster struct{ Leader string }
				} `json:"stream_detail"`
			} `json:"account_details"`
		}
		if getJSON(c.ctx, "http://"+m.address+":"+natsMonitor+"/jsz?streams=true&config=true", &body) != nil {
			continue
		}
		for _, a := range body.Accounts {
			for _, st := range a.Streams {
				if strings.HasSuffix(st.Name, "-log") && st.Cluster.Leader != "" {
					return c.byName(st.Cluster.Leader)
				}
			}
		}
	}
	return nil
}

func (c *chaos) byName(name string) *machine {
	for _, m := range c.machines {
		if m.name == name {
			return m
		}
	}
	return nil
}

// getJSON asks a server that has a second to answer.
func getJSON(ctx context.Context, url string, into any) error {
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	return json.NewDecoder(a.Body).Decode(into)
}

// chaosDisk is a small disk of its own; failing ones are a file system on a file that
// can be taken the room away.
type chaosDisk struct {
	c       *chaos
	dir     string
	backing string // the folder of the file below; "" where there is none
}

// smallDisk mounts a disk of so many bytes.
func (c *chaos) smallDisk(name string, bytes int, fails bool) *chaosDisk {
	d := &chaosDisk{c: c, dir: c.site.path("disk-" + name)}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { // the folder of the test is removed after it
		for _, dir := range []string{d.dir, d.backing} {
			if dir != "" {
				_ = exec.Command("umount", "-l", dir).Run()
			}
		}
	})
	if !fails {
		c.shell("mount", "-t", "tmpfs", "-o", fmt.Sprint("size=", bytes), "tmpfs", d.dir)
		return d
	}
	d.backing = c.site.path("below-" + name)
	if err := os.MkdirAll(d.backing, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.shell("mount", "-t", "tmpfs", "-o", fmt.Sprint("size=", bytes), "tmpfs", d.backing)
	c.shell("truncate", "-s", fmt.Sprint(bytes), filepath.Join(d.backing, "image"))
	c.shell("mkfs.ext4", "-q", "-O", "^has_journal", filepath.Join(d.backing, "image"))
	d.mount()
	return d
}

func (d *chaosDisk) mount() {
	d.c.shell("mount", "-o", "loop,errors=continue", filepath.Join(d.backing, "image"), d.dir)
}

// fill leaves a folder no room; the file it writes is to be removed.
func fill(dir string) (path string, err error) {
	path = filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		return path, err
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	return path, nil
}
