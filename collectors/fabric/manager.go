package fabric

import (
	"context"
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/telemetry"
)

// managed is the latest known state of the subnet's manager.
type managed struct {
	master uint64 // GUID of its port; 0 if none was ever seen
	lid    uint16
}

// readManager queries the subnet manager. It sends one datagram, to the manager's
// address as the local port knows it.
func (r *reader) readManager(ctx context.Context) {
	start := r.clock()
	r.nextManager = start.Add(max(r.cfg.Every, time.Second))
	r.pace.spend(start, 1)
	q := request{program: r.sminfo, args: []string{"-t", r.timeout()}, most: 64 << 10, patient: r.replyTimeout(1)}
	r.local(&q)
	a := r.run.run(ctx, q)
	if ctx.Err() != nil {
		return
	}
	end := r.clock()
	of := telemetry.Entity{Kind: telemetry.SM, Name: r.cfg.Subnet}
	m, err := ibdiag.ParseManager(a.out)
	if err != nil {
		// A manager that is gone is not a fault of the subnet; where nothing was
		// asked, nothing is known of it.
		r.drop(collectors.Unreadable, 1)
		r.log.Debug("the subnet manager does not answer", "err", err, "program", a.err, "says", lastLine(a.complaints))
		if ibdiag.Timeouts(a.complaints) > 0 {
			r.note(of, "sm_up", 0)
		} else if cell, ok := r.health.Cell(of, telemetry.Column{Metric: "sm_up", Type: telemetry.Uint}); ok {
			r.health.Gap(cell)
		}
		r.emit(r.health, start, end)
		return
	}
	up := uint64(0)
	if m.State == ibdiag.Master {
		up = 1
		r.follow(of, m, telemetry.Time(end.UnixNano()))
	}
	r.note(of, "sm_up", up)
	r.note(of, "sm_priority", uint64(m.Priority))
	r.note(of, "sm_activity_total", uint64(m.Activity))
	r.emit(r.health, start, end)
}

// follow emits an event when the master has changed.
func (r *reader) follow(of telemetry.Entity, m ibdiag.Manager, at telemetry.Time) {
	was := *r.manager
	*r.manager = managed{m.GUID, m.LID}
	if was.master == 0 || was.master == m.GUID {
		return
	}
	r.event(telemetry.Event{Entity: of, At: at, Name: telemetry.EventSMMasterChanged,
		Text: fmt.Sprintf("%s -> %s, priority %d", r.whose(was), r.whose(*r.manager), m.Priority)})
	// A new master assigns addresses again, and may find another subnet.
	r.hurry(r.clock())
}

// whose names the node of a manager as precisely as it is known.
func (r *reader) whose(m managed) string {
	if e, ok := r.ports[m.master]; ok {
		if n := r.subnet.nodes[e.guid]; n != nil {
			return n.port(e.port).Name
		}
	}
	return fmt.Sprintf("0x%016x at lid %d", m.master, m.lid)
}

func (r *reader) note(of telemetry.Entity, m telemetry.MetricName, word uint64) {
	if cell, ok := r.health.Cell(of, telemetry.Column{Metric: m, Type: telemetry.Uint}); ok {
		r.health.Set(cell, word)
	}
}
