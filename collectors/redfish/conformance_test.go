package redfish

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	wire "github.com/quintet-dc/quintet/lab/wire/redfish"
	"github.com/quintet-dc/quintet/telemetry"
)

// controller is one BMC of the lab, whose site does not advance, and a collector
// that polls it far more often than a device would tolerate.
type controller struct {
	*Collector
	fleet *wire.Fleet
	board *board.Board
	node  telemetry.Entity
}

func newController(t *testing.T, c wire.Config) *controller {
	t.Helper()
	s, err := live.New(16, 5, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	node := s.Board().Entities(telemetry.Node)[0]
	c.Entities, c.Dir = []telemetry.Entity{node}, t.TempDir()
	f, err := wire.New(s.Board(), c)
	if err != nil {
		t.Fatal(err)
	}
	collectorstest.Start(t, f.Run)
	out := &controller{fleet: f, board: s.Board(), node: node}
	out.Collector = out.reader(t, f.Entries()[0]["targets"].([]any)[0].(map[string]any)["address"].(string))
	return out
}

// reader makes a collector for an address of the fleet's.
func (c *controller) reader(t *testing.T, address string) *Collector {
	t.Helper()
	dir := filepath.Dir(c.fleet.PasswordFile())
	r, err := New(Config{Address: address, Entity: c.node, BasicAuth: dial.BasicAuth{Username: wire.User, PasswordFile: filepath.Join(dir, "password")}, TLS: dial.TLS{CA: filepath.Join(dir, "ca.pem")}}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Every, r.cfg.Slow, r.cfg.Walk, r.cfg.Timeout, r.client.again = 20*time.Millisecond, 60*time.Millisecond, 200*time.Millisecond, 2*time.Second, 20*time.Millisecond
	return r
}

func TestItConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{RealTime: true, New: func(t *testing.T) collectorstest.Subject {
		c := newController(t, wire.Config{})
		return collectorstest.Subject{
			Collector: hungUp{c},
			Sever:     func() { c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Closed}) },
			Restore:   func() { c.fleet.Flaw(c.node) },
			Spoil:     func() { c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Cut, Path: "Chassis/Chassis_0/ThermalSubsystem"}) },
			SpoiltAs:  collectors.Malformed,
			Swell: func() {
				c.fleet.Flaw(c.node, wire.Flaw{Fault: wire.Swollen, Path: "Chassis/Chassis_0/ThermalSubsystem/Fans"})
			},
		}
	}})
}

// hungUp is a run whose connections the other side has seen end too: both sides
// are in this process, and files are counted.
type hungUp struct{ *controller }

func (h hungUp) Run(ctx context.Context, sink collectors.Sink) error {
	err := h.Collector.Run(ctx, sink)
	limit := time.After(10 * time.Second)
	for h.fleet.Tally(h.node).Connections > 0 {
		select {
		case <-limit:
			return errors.New("connections are open")
		case <-time.After(time.Millisecond):
		}
	}
	return err
}
