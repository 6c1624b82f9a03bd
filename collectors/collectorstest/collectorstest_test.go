package collectorstest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/telemetry"
)

// model is a collector as it should be, of a source that is three flags.
type model struct{ severed, spoilt, swollen atomic.Bool }

func (m *model) Run(ctx context.Context, sink collectors.Sink) error {
	feed, err := collectors.NewFeed(&telemetry.Schema{
		Source:   telemetry.Source{Collector: "model", Target: "h"},
		Entities: []telemetry.Entity{{Kind: telemetry.Node, Name: "h"}},
		Columns:  []telemetry.Column{{Metric: "port_rx_bytes_total", Type: telemetry.Uint}, {Metric: "port_tx_bytes_total", Type: telemetry.Uint}},
	}, uint64(time.Now().UnixNano()))
	if err != nil {
		return err
	}
	sink.Emit(feed.Schema())
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for n := uint64(0); ; n++ {
		if err := m.sweep(feed, sink, n); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (m *model) sweep(feed *collectors.Feed, sink collectors.Sink, n uint64) error {
	s := collectors.Sweep{Read: 2, Dropped: map[collectors.Reason]int{}}
	states := []telemetry.State{telemetry.Present, telemetry.Present}
	switch {
	case m.severed.Load():
		sink.Swept(collectors.Sweep{Err: errors.New("away")})
		return nil
	case m.spoilt.Load():
		s.Read, s.Dropped[collectors.Malformed], states[1] = 1, 1, telemetry.Gap
	case m.swollen.Load():
		s.Dropped[collectors.OverLimit] = 1000
	}
	now := telemetry.Time(time.Now().UnixNano())
	r, err := feed.Frame(telemetry.Instant{Source: now, Received: now}, []uint64{n, n}, states)
	if err != nil {
		return err
	}
	sink.Emit(r)
	sink.Swept(s)
	return nil
}

func TestAModelCollectorConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(*testing.T) collectorstest.Subject {
		m := &model{}
		return collectorstest.Subject{
			Collector: m,
			Sever:     func() { m.severed.Store(true) }, Restore: func() { m.severed.Store(false) },
			Spoil: func() { m.spoilt.Store(true) }, SpoiltAs: collectors.Malformed,
			Swell: func() { m.swollen.Store(true) },
		}
	}})
}

// pushed is a model of a push collector: it emits when it is poked.
type pushed struct{ in chan bool }

func (p *pushed) Run(ctx context.Context, sink collectors.Sink) error {
	feed, err := collectors.NewFeed(&telemetry.Schema{
		Source:   telemetry.Source{Collector: "model", Target: "h"},
		Entities: []telemetry.Entity{{Kind: telemetry.Node, Name: "h"}},
		Columns:  []telemetry.Column{{Metric: "port_rx_bytes_total", Type: telemetry.Uint}},
	}, uint64(time.Now().UnixNano()))
	if err != nil {
		return err
	}
	sink.Emit(feed.Schema())
	for {
		select {
		case <-p.in:
			now := telemetry.Time(time.Now().UnixNano())
			r, err := feed.Frame(telemetry.Instant{Received: now}, []uint64{1}, nil)
			if err != nil {
				return err
			}
			sink.Emit(r)
			sink.Swept(collectors.Sweep{Read: 1})
		case <-ctx.Done():
			return nil
		}
	}
}

func TestAPushedModelConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(*testing.T) collectorstest.Subject {
		p := &pushed{in: make(chan bool, 1)}
		return collectorstest.Subject{Collector: p, Poke: func() {
			select {
			case p.in <- true:
			default:
			}
		}}
	}, RealTime: true})
}
