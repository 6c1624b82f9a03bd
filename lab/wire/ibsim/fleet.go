package ibsim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config describes how a site's subnets are put on the wire.
type Config struct {
	// Dir is where their files are; "" is the system's folder for such.
	Dir string
	// Every and Topology are what the collectors' entries state; zero leaves them
	// out.
	Every, Topology time.Duration
	// Logger takes what cannot be shown; nil discards it.
	Logger *slog.Logger
}

// Fleet is the subnets of a site.
type Fleet struct {
	cfg     Config
	board   *board.Board
	subnets []*running
	seen    int // events of the board that were looked at
}

// running is a subnet that is simulated.
type running struct {
	*Subnet
	sim      *Sim
	manager  *Manager
	adapters []int // nodes that a manager may stand on
	down     map[int]bool
	set      map[Counter]uint64 // by a counter of value 0
}

// New starts every subnet of a site, each with a manager. They show what the
// board states when Run runs.
func New(b *board.Board, c Config) (*Fleet, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	subnets, err := Subnets(b)
	if err != nil {
		return nil, fmt.Errorf("ibsim: %w", err)
	}
	f := &Fleet{cfg: c, board: b}
	_, f.seen = b.Events(0)
	for _, s := range subnets {
		r := &running{Subnet: s, down: map[int]bool{}, set: map[Counter]uint64{}}
		for i := range s.Net.Nodes {
			if !s.Net.Nodes[i].Switch {
				r.adapters = append(r.adapters, i)
			}
		}
		if len(r.adapters) == 0 {
			err = fmt.Errorf("ibsim: subnet %s has no adapter", s.Name)
		} else {
			if r.sim, err = Start(context.Background(), c.Dir, s.Net); err == nil {
				f.subnets = append(f.subnets, r)
				r.manager, err = r.sim.Manage(r.adapters[0], 8)
			}
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// Close ends everything.
func (f *Fleet) Close() {
	for _, r := range f.subnets {
		r.sim.Close()
	}
}

// Run shows the state of the board, second by second, until ctx is done; then
// everything has ended.
func (f *Fleet) Run(ctx context.Context) error {
	defer f.Close()
	for ctx.Err() == nil {
		if err := f.Show(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("ibsim: %w", err)
		}
		if f.board.Wait(ctx) != nil {
			break // ctx is done
		}
	}
	return nil
}

// Show has the subnets show the state of the board now.
func (f *Fleet) Show(ctx context.Context) error {
	f.replace()
	var errs []error
	for _, r := range f.subnets {
		errs = append(errs, r.cables(ctx, f.board), r.show(ctx, f.board))
	}
	return errors.Join(errs...)
}

// show sets what has changed, and always what ibsim changes too: datagrams of
// management are counted as data where they pass, and as discards where they
// are lost.
func (r *running) show(ctx context.Context, b *board.Board) error {
	var changed []Counter
	for _, c := range r.counters(b) {
		key := c
		key.Value = 0
		if last, ok := r.set[key]; !ok || last != c.Value || c.moves {
			changed = append(changed, c)
			r.set[key] = c.Value
		}
	}
	return r.sim.Set(ctx, changed...)
}

// cables pulls the cables whose links are down on the board, and puts back
// those that are up again.
func (r *running) cables(ctx context.Context, b *board.Board) error {
	for i, c := range r.Net.Cables {
		down := false
		for _, e := range []End{c.A, c.B} {
			x, ok := b.Read(r.Of[e], "port_up")
			down = down || ok && !x.Gap && x.Uint() == 0
		}
		if down == r.down[i] {
			continue
		}
		act := r.sim.Plug
		if down {
			act = r.sim.Pull
		}
		if err := act(ctx, c.A); err != nil {
			return err
		}
		r.down[i] = down
	}
	return nil
}

// replace ends a subnet's manager where the board states that it has another
// master, and starts one elsewhere.
func (f *Fleet) replace() {
	var events []telemetry.Event
	events, f.seen = f.board.Events(f.seen)
	for _, e := range events {
		if e.Name != telemetry.EventSMMasterChanged {
			continue
		}
		for _, r := range f.subnets {
			if e.Entity.Name != r.Name {
				continue
			}
			next := r.adapters[0]
			if r.manager.Node == next {
				next = r.adapters[len(r.adapters)/2]
			}
			r.manager.Kill()
			m, err := r.sim.Manage(next, 8)
			if err != nil {
				f.cfg.Logger.Error("no subnet manager", "subnet", r.Name, "err", err)
				continue
			}
			r.manager = m
		}
	}
}

// Addresses states where the subnets are, for people.
func (f *Fleet) Addresses() []string {
	var out []string
	for _, r := range f.subnets {
		env := r.sim.Environment(r.programNode())
		out = append(out, fmt.Sprintf("subnet %s IBSIM_SOCKNAME=%s SIM_HOST=%s LD_PRELOAD=%s", r.Name, env["IBSIM_SOCKNAME"], env["SIM_HOST"], env["LD_PRELOAD"]))
	}
	return out
}

// programNode is the node that programs run on: no manager ever does.
func (r *running) programNode() int { return r.adapters[len(r.adapters)-1] }

// Entries lists the entries of "collectors: fabric:" with which the collector
// reads the subnets.
func (f *Fleet) Entries() []map[string]any {
	var out []map[string]any
	for _, r := range f.subnets {
		e := map[string]any{"subnet": r.Name, "environment": r.sim.Environment(r.programNode()), "directory": r.sim.Dir()}
		if r.PortName != "" {
			e["port_name"] = r.PortName
		}
		if f.cfg.Every > 0 {
			e["interval"] = f.cfg.Every.String()
		}
		if f.cfg.Topology > 0 {
			e["discovery_interval"] = f.cfg.Topology.String()
		}
		out = append(out, e)
	}
	return out
}
