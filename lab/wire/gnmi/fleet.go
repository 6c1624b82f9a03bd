package gnmi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/wire/authority"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config describes how switches are put on the wire.
type Config struct {
	// Dialect is that of every switch; "" deals them out: sonic, cumulus and
	// openconfig in turn, nvos where the fabric is InfiniBand.
	Dialect string
	// Dir is where the certificate of the fleet's authority is written, for
	// clients; "" is a folder for temporary files.
	Dir string
	// Subtrees has trees sent as one JSON value per list entry where the
	// encoding is JSON, as many devices do.
	Subtrees bool
}

// Fleet is the switches of a site, each with an address of its own.
type Fleet struct {
	devices []*device
	byName  map[string]*device
	board   *board.Board
	dir     string
	ours    bool // the folder is to be removed

	mu   sync.Mutex
	cert *tls.Certificate
}

// New makes the switches and binds their addresses on loopback; Run has them
// answer.
func New(b *board.Board, c Config) (*Fleet, error) {
	f := &Fleet{board: b, byName: map[string]*device{}, dir: c.Dir}
	if f.dir == "" {
		var err error
		if f.dir, err = os.MkdirTemp("", "gnmi"); err != nil {
			return nil, fmt.Errorf("gnmi fleet: %w", err)
		}
		f.ours = true
	}
	if err := errors.Join(os.MkdirAll(f.dir, 0o755), f.Rotate()); err != nil {
		return nil, fmt.Errorf("gnmi fleet: %w", err)
	}
	for i, e := range b.Entities(telemetry.Switch) {
		d, err := f.device(b, e, i, &c)
		if err != nil {
			f.close()
			return nil, fmt.Errorf("gnmi fleet: %s: %w", e, err)
		}
		f.devices = append(f.devices, d)
		f.byName[e.Name] = d
	}
	if len(f.devices) == 0 {
		return nil, errors.New("gnmi fleet: the site has no switch")
	}
	f.introduce(b)
	return f, nil
}

// device makes one switch and binds its address.
func (f *Fleet) device(b *board.Board, e telemetry.Entity, n int, c *Config) (*device, error) {
	d := &device{entity: e, board: b, subtrees: c.Subtrees, certificate: f.certificate, unplugged: map[telemetry.Entity]bool{}, neighbours: map[telemetry.Entity]neighbour{}}
	name := c.Dialect
	if name == "" {
		name = [...]string{SONiC, Cumulus, OpenConfig}[n%3]
		for _, p := range b.Inside(e) {
			if _, ok := b.Read(p, "port_xmit_wait_ticks_total"); ok {
				name = NVOS
			}
		}
	}
	var err error
	if d.speaks, err = speak(name); err != nil {
		return nil, err
	}
	d.dialect = name
	d.ports = sockets(b, e, d.speaks)
	if d.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	d.address = d.listener.Addr().String()
	return d, nil
}

// introduce gives the switches their neighbours by LLDP.
func (f *Fleet) introduce(b *board.Board) {
	sockets := map[telemetry.Entity]*socket{}
	for _, d := range f.devices {
		for i := range d.ports {
			sockets[d.ports[i].entity] = &d.ports[i]
		}
	}
	link := func(here, there telemetry.Entity) {
		d := f.byName[here.Prefix()]
		if here.Kind != telemetry.Port || d == nil {
			return
		}
		n := neighbour{system: there.Prefix()}
		switch s := sockets[there]; {
		case s != nil:
			n.port, n.description, n.bridge = s.native, s.site, true
		case there.Kind == telemetry.NIC:
			n.description = there.Name[len(n.system)+1:]
			n.port = hardware(there.Name)
		default:
			return
		}
		d.neighbours[here] = n
	}
	for _, e := range b.Edges(telemetry.Connects) {
		link(e.From, e.To)
		link(e.To, e.From)
	}
}

// hardware is a made-up address of a NIC: a host's LLDP names its port so.
func hardware(name string) string {
	var h uint32 = 2166136261 // FNV-1a
	for _, c := range []byte(name) {
		h = (h ^ uint32(c)) * 16777619
	}
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", byte(h>>24), byte(h>>16), byte(h>>8), byte(h))
}

// Run has every switch answer until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, d := range f.devices {
		if err := d.Start(); err != nil {
			f.close()
			return fmt.Errorf("gnmi fleet: %s: %w", d.entity, err)
		}
	}
	for f.board.Wait(ctx) == nil {
		for _, d := range f.devices {
			if err := d.live(); err != nil {
				f.close()
				return fmt.Errorf("gnmi fleet: %s: %w", d.entity, err)
			}
		}
	}
	for _, d := range f.devices {
		all.Go(d.Stop)
	}
	all.Wait()
	if f.ours {
		return os.RemoveAll(f.dir)
	}
	return nil
}

func (f *Fleet) close() {
	for _, d := range f.devices {
		d.Stop()
	}
}

// Addresses lists who listens where, a line each.
func (f *Fleet) Addresses() (out []string) {
	for _, d := range f.devices {
		out = append(out, fmt.Sprintf("%s %s (%s)", d.entity.Name, d.address, d.dialect))
	}
	return out
}

// CA is the file of the authority that signed every switch's certificate.
func (f *Fleet) CA() string { return filepath.Join(f.dir, "gnmi-ca.pem") }

// Entries are those of a configuration's "collectors: gnmi:" with which the
// fleet is read.
func (f *Fleet) Entries() (out []map[string]any) {
	for _, name := range [...]string{SONiC, Cumulus, OpenConfig, NVOS} {
		var targets []any
		for _, d := range f.devices {
			if d.dialect == name {
				targets = append(targets, map[string]any{"address": d.address, "name": d.entity.Name})
			}
		}
		if len(targets) == 0 {
			continue
		}
		called := "description"
		if name == SONiC {
			called = "alias"
		}
		out = append(out, map[string]any{"profile": name, "names": called, "targets": targets, "tls": map[string]any{"ca_file": f.CA()}})
	}
	return out
}

// Device returns the switch of a name, nil if there is none.
func (f *Fleet) Device(name string) *Device {
	d := f.byName[name]
	if d == nil {
		return nil
	}
	return &Device{d}
}

// Device is a switch that can be made to fail.
type Device struct{ *device }

// Unplug takes a port of the switch away, as a breakout does, or gives it back.
func (d *Device) Unplug(port telemetry.Entity, away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unplugged[port] = away
}

// Address is where the switch listens.
func (d *Device) Address() string { return d.address }

// Rotate makes a new authority and a new certificate, as a site does that renews
// them: new connections meet the new one.
func (f *Fleet) Rotate() error {
	ca, err := authority.New()
	if err != nil {
		return err
	}
	cert, err := ca.Server("switch")
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.cert = cert
	f.mu.Unlock()
	half := f.CA() + ".new"
	if err := os.WriteFile(half, ca.PEM(), 0o644); err != nil {
		return err
	}
	return os.Rename(half, f.CA())
}

func (f *Fleet) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cert, nil
}
