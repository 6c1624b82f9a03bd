package logs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states where logs go.
type Config struct {
	// Dir is an existing folder; each host has a folder of its own in it.
	Dir string
	// Syslog is where switches send; "" picks a free port of loopback.
	Syslog string
	// Largest is how long a host's file may become until it is put aside; 0 is
	// 4 MiB.
	Largest int64
}

// Fleet is everything of a site that logs.
type Fleet struct {
	board    *board.Board
	hosts    []*host
	senders  map[string]*sender // by the switch's name, or the subnet's
	byName   map[string]*host
	ports    map[string]string // what a switch calls its port, what the site does
	subnets  map[string]string
	syslog   string
	out      net.PacketConn
	to       net.Addr
	seen     int // events of the board that were logged
	chattily int // seconds
}

// New lays out the logs of a site's hosts, and the switches that send.
func New(b *board.Board, c Config) (*Fleet, error) {
	f := &Fleet{board: b, senders: map[string]*sender{}, byName: map[string]*host{}, ports: map[string]string{}, subnets: map[string]string{}, syslog: c.Syslog}
	largest := c.Largest
	if largest == 0 {
		largest = 4 << 20
	}
	for _, n := range b.Entities(telemetry.Node) {
		h, err := newHost(b, n, filepath.Join(c.Dir, n.Name), largest)
		if err != nil {
			return nil, fmt.Errorf("logs: %s: %w", n, err)
		}
		if h != nil {
			f.hosts = append(f.hosts, h)
			f.byName[n.Name] = h
		}
	}
	for i, sw := range b.Entities(telemetry.Switch) {
		f.senders[sw.Name] = newSender(b, sw, i)
		for site, native := range f.senders[sw.Name].ports {
			f.ports[sw.Name+"/"+native] = site
		}
		if plane, _, ok := strings.Cut(sw.Name, "-"); ok && f.senders[sw.Name].infiniBand {
			// Each plane is a subnet, and has two hosts that can manage it.
			f.senders[plane] = &sender{name: plane + "-sm2", words: opensm}
			f.subnets[plane+"-sm2"] = plane
		}
	}
	if f.syslog == "" {
		var err error
		if f.syslog, err = freePort(); err != nil {
			return nil, fmt.Errorf("logs: %w", err)
		}
	}
	_, f.seen = b.Events(0)
	return f, nil
}

// freePort finds a port that no process listens on.
func freePort() (string, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return c.LocalAddr().String(), c.Close()
}

// Run logs until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	var err error
	if f.to, err = net.ResolveUDPAddr("udp", f.syslog); err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	// Not connected: a message without a listener must not cost the next one.
	if f.out, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	defer f.close()
	for f.board.Wait(ctx) == nil {
		if err := f.write(); err != nil {
			return fmt.Errorf("logs: %w", err)
		}
	}
	return nil
}

func (f *Fleet) close() {
	_ = f.out.Close()
	for _, h := range f.hosts {
		h.close()
	}
}

// write logs what has happened since the last time.
func (f *Fleet) write() error {
	var events []telemetry.Event
	events, f.seen = f.board.Events(f.seen)
	var errs []error
	for i := range events {
		e := &events[i]
		if h := f.byName[owner(e.Entity)]; h != nil {
			errs = append(errs, h.log(e))
		}
		if s := f.senders[owner(e.Entity)]; s != nil {
			if text := s.format(e); text != "" {
				_, _ = f.out.WriteTo([]byte(text), f.to) // nobody may be there to hear it
			}
		}
	}
	if f.chattily++; f.chattily%10 == 0 {
		for _, h := range f.hosts {
			errs = append(errs, h.chatter(f.board.Now()))
		}
	}
	return errors.Join(errs...)
}

// owner is the name of what logs about an entity.
func owner(e telemetry.Entity) string {
	if p := e.Prefix(); p != "" {
		return p
	}
	return e.Name
}

// Addresses lists where each host's messages are, and where switches send.
func (f *Fleet) Addresses() []string {
	var out []string
	for _, h := range f.hosts {
		out = append(out, h.name+" "+h.path)
	}
	if len(f.senders) > 0 {
		out = append(out, "switches udp://"+f.syslog)
	}
	return out
}

// Entries are what "collectors: logs:" must list to read this site.
func (f *Fleet) Entries() []map[string]any {
	var out []map[string]any
	for _, h := range f.hosts {
		out = append(out, map[string]any{"node": h.name, "kernel": map[string]any{"path": h.path, "boot": h.boot.UTC().Format(time.RFC3339Nano)}, "gpus": h.gpus, "nics": h.nics})
	}
	if len(f.senders) > 0 {
		e := map[string]any{"name": "switches", "listen": []string{"udp://" + f.syslog}}
		if len(f.ports) > 0 {
			e["ports"] = f.ports
		}
		if len(f.subnets) > 0 {
			e["subnets"] = f.subnets
		}
		out = append(out, e)
	}
	return out
}

// wall is a time of the site's on the wall.
func wall(t telemetry.Time) time.Time { return time.Unix(0, int64(t)) }
