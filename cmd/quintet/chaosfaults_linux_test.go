package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// injection is one kind of fault: it is injected into a machine and returns what
// was done and what ends it.
type injection struct {
	name   string
	kinds  []string // of machines; none means all
	inject func(m *machine, r *rand.Rand) (what string, end func(), err error)
}

// injections are what the chaos test does to machines. Where a kind of fault needs
// what this kernel lacks (delays need sch_netem), it is not in the list; a slow
// link is a token bucket in its place.
func injections() []injection {
	return []injection{
		{"kill", nil, killed},
		{"engine killed", []string{"engine"}, engineKilled},
		{"stop", nil, stoppedFor},
		{"partition", nil, partitioned},
		{"split", []string{"nats"}, split},
		{"slow link", nil, slowLink},
		{"lossy link", nil, lossyLink},
		{"clock step", nil, clockStep},
		{"full disk", []string{"nats", "collect"}, fullDiskOf},
		{"failing disk", []string{"nats"}, failingDisk},
		{"flipped blocks", []string{"nats", "collect"}, flippedBlocks},
	}
}

// fits reports whether an injection can be put into a machine.
func (i *injection) fits(m *machine) bool {
	return (len(i.kinds) == 0 || slices.Contains(i.kinds, m.kind)) && (i.name != "failing disk" || m.disk != nil && m.disk.backing != "")
}

func killed(m *machine, _ *rand.Rand) (string, func(), error) {
	m.proc.kill()
	return "SIGKILL", m.start, nil
}

// engineKilled kills the engine's process, as the kernel does for lack of memory: the
// service starts it again by itself.
func engineKilled(m *machine, _ *rand.Rand) (string, func(), error) {
	for _, pid := range childrenOf(m.proc.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return "SIGKILL of the engine's process", func() {}, nil
}

func stoppedFor(m *machine, _ *rand.Rand) (string, func(), error) {
	pids := append([]int{m.proc.cmd.Process.Pid}, childrenOf(m.proc.cmd.Process.Pid)...)
	end := func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return "", end, err
		}
	}
	return "SIGSTOP", end, nil
}

// rule inserts a rule into the machine's firewall; end removes it.
func (m *machine) rule(words ...string) func() {
	m.inside(append([]string{"iptables", "-I"}, words...)...)
	return func() { m.inside(append([]string{"iptables", "-D"}, words...)...) }
}

func partitioned(m *machine, _ *rand.Rand) (string, func(), error) {
	in, out := m.rule("INPUT", "-i", "eth0", "-j", "DROP"), m.rule("OUTPUT", "-o", "eth0", "-j", "DROP")
	return "cut off from everything", func() { in(); out() }, nil
}

// split cuts one link between two servers of the log; both still reach the third.
func split(m *machine, r *rand.Rand) (string, func(), error) {
	var others []*machine
	for _, o := range m.c.machines {
		if o.kind == m.kind && o != m {
			others = append(others, o)
		}
	}
	o := others[r.IntN(len(others))]
	in, out := m.rule("INPUT", "-s", o.address, "-j", "DROP"), m.rule("OUTPUT", "-d", o.address, "-j", "DROP")
	return "cut off from " + o.name, func() { in(); out() }, nil
}

func slowLink(m *machine, r *rand.Rand) (string, func(), error) {
	rate := []string{"512kbit", "1mbit", "4mbit"}[r.IntN(3)]
	m.inside("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "16kb", "latency", "400ms")
	return rate + " a second, 400 ms of queue", func() { m.inside("tc", "qdisc", "del", "dev", "eth0", "root") }, nil
}

func lossyLink(m *machine, r *rand.Rand) (string, func(), error) {
	share := fmt.Sprintf("0.%02d", 5+r.IntN(20))
	return "loses a share of " + share + " of the packets", m.rule("INPUT", "-i", "eth0", "-m", "statistic", "--mode", "random", "--probability", share, "-j", "DROP"), nil
}

func clockStep(m *machine, r *rand.Rand) (string, func(), error) {
	var err error
	if m.clock == nil {
		if m.clock, err = newClock(m.proc.cmd.Process.Pid); err != nil {
			return "", nil, err
		}
	}
	by := time.Minute * time.Duration(1-2*r.IntN(2))
	c := m.clock
	return "wall clock " + by.String(), func() { _ = c.step(0) }, c.step(by)
}

func fullDiskOf(m *machine, _ *rand.Rand) (string, func(), error) {
	path, err := fill(m.disk.dir)
	return "no room on its disk", func() { _ = os.Remove(path) }, err
}

// failingDisk takes the file below a disk the room: what the file system writes is
// refused with an I/O error. The disk is replaced by an empty one at the end.
func failingDisk(m *machine, _ *rand.Rand) (string, func(), error) {
	d := m.disk
	_, err := fill(d.backing)
	return "writes to its disk fail", func() {
		m.proc.kill()
		m.c.shell("umount", "-l", d.dir)
		m.c.shell("umount", "-l", d.backing)
		fresh := m.c.smallDisk(m.name, 256<<20, true)
		*d = *fresh
		m.start()
	}, err
}

// flippedBlocks changes a byte in each of three blocks of the files of a process
// that was killed.
func flippedBlocks(m *machine, r *rand.Rand) (string, func(), error) {
	m.proc.kill()
	var files []string
	err := filepath.WalkDir(m.disk.dir, func(path string, e fs.DirEntry, err error) error {
		if info, infoErr := e.Info(); err == nil && infoErr == nil && e.Type().IsRegular() && info.Size() > 0 {
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		return "no file to change; SIGKILL", m.start, err
	}
	what := "SIGKILL, a byte changed in"
	for range 3 {
		path := files[r.IntN(len(files))]
		if err := flipByte(path, r); err != nil {
			return "", m.start, err
		}
		short, _ := filepath.Rel(m.disk.dir, path)
		what += " " + short
	}
	return what, m.start, nil
}

func flipByte(path string, r *rand.Rand) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	return os.WriteFile(path, b, 0o600)
}

// again does what a service manager and an operator do (docs/operating.md): it starts
// what ended by itself, restarts a server of the log that gave up its store, which it
// gives up for good at the first write that fails, and empties one that cannot read
// its copy of a stream, which it otherwise never has again (a server inside our own
// service is watched by it).
func (c *chaos) again() {
	for _, m := range c.machines {
		switch {
		case !m.running():
			c.say("seen", "%s ended: %.300s", m.name, tail(m.proc.said.String(), 300))
		case m.gaveUp():
			c.say("seen", "%s gave up its store: started anew", m.name)
			m.proc.kill()
		case m.lost() != "":
			c.say("seen", "%s has lost its copy: emptied: %.200s", m.name, m.lost())
			m.proc.kill()
			if err := os.RemoveAll(filepath.Join(m.disk.dir, "js")); err != nil {
				c.t.Fatal(err)
			}
		default:
			continue
		}
		m.start()
	}
}

// lost returns why a server of the log cannot serve a stream until its store is
// emptied; "" where it can, or may by itself.
func (m *machine) lost() string {
	if m.kind != "nats" {
		return ""
	}
	_, errors := m.health()
	for _, e := range errors {
		if strings.Contains(e, "stream assignment error") {
			return e
		}
	}
	return ""
}

// health asks a server of the log for its state and what is wrong.
func (m *machine) health() (status string, errors []string) {
	var health struct {
		Status string
		Errors []struct{ Error string }
	}
	if getJSON(m.c.ctx, "http://"+m.address+":"+natsMonitor+"/healthz?details=true", &health) != nil {
		return "", nil
	}
	for _, e := range health.Errors {
		errors = append(errors, e.Error)
	}
	return health.Status, errors
}

// clusterIsWhole reports whether every server of the log has all that it should:
// where one does not, two are in trouble if another gets into it.
func (c *chaos) clusterIsWhole() bool {
	for _, m := range c.machines {
		if m.kind != "nats" {
			continue
		}
		if status, _ := m.health(); status != "ok" {
			return false
		}
	}
	return true
}

// gaveUp asks a server of the log whether it has no store any more, though it was to
// have one.
func (m *machine) gaveUp() bool {
	if m.kind != "nats" {
		return false
	}
	var health struct{ Status string }
	err := getJSON(m.c.ctx, "http://"+m.address+":"+natsMonitor+"/healthz?js-enabled-only=true", &health)
	return err == nil && health.Status != "ok"
}

// tools are the programs that the test needs beside ours.
func tools() error {
	for _, name := range []string{"ip", "tc", "iptables", "sysctl", "mount", "umount", "mkfs.ext4", "truncate"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("chaos: %w", err)
		}
	}
	return nil
}
