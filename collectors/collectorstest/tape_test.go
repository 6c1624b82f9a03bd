package collectorstest

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

func schema(target string) *telemetry.Schema {
	return &telemetry.Schema{
		Source:   telemetry.Source{Collector: "t", Target: target},
		Entities: []telemetry.Entity{{Kind: telemetry.Node, Name: "h"}},
		Columns:  []telemetry.Column{{Metric: "port_rx_bytes_total", Type: telemetry.Uint}},
	}
}

// Every fault that the tape knows is found: a check that cannot fail is none.
func TestTheTapeFindsFaults(t *testing.T) {
	feed := func(incarnation uint64) *collectors.Feed {
		f, err := collectors.NewFeed(schema("h"), incarnation)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	frame := func(f *collectors.Feed, at telemetry.Instant) *telemetry.Record {
		r, err := f.Frame(at, []uint64{1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	now := telemetry.Instant{Source: 5, Received: 6}
	for _, c := range []struct {
		want string
		play func(*tape)
	}{
		{"", func(tp *tape) {
			f := feed(1)
			tp.Emit(f.Schema())
			tp.Emit(frame(f, now))
			tp.Emit(frame(f, now))
			tp.Emit(frame(feed(2), now))
			tp.Swept(collectors.Sweep{Took: 1, Read: 1})
		}},
		{"not stated before", func(tp *tape) { tp.Emit(frame(feed(1), now)) }},
		{"after frame 0", func(tp *tape) {
			f := feed(1)
			tp.Emit(f.Schema())
			tp.Emit(frame(f, now))
			frame(f, now)
			tp.Emit(frame(f, now))
		}},
		{"incarnation 1", func(tp *tape) {
			tp.Emit(feed(2).Schema())
			tp.Emit(frame(feed(2), now))
			tp.Emit(frame(feed(1), now))
		}},
		{"instant -5", func(tp *tape) {
			tp.Emit(feed(1).Schema())
			tp.Emit(frame(feed(1), telemetry.Instant{Source: -5}))
		}},
		{"instant 0", func(tp *tape) {
			tp.Emit(feed(1).Schema())
			tp.Emit(frame(feed(1), telemetry.Instant{}))
		}},
		{"the log refuses", func(tp *tape) {
			tp.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{}})
		}},
		{"tick record", func(tp *tape) { tp.Emit(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: 1}}) }},
		{"a sweep that took", func(tp *tape) { tp.Swept(collectors.Sweep{Took: -1}) }},
		{"dropped -1", func(tp *tape) { tp.Swept(collectors.Sweep{Dropped: map[collectors.Reason]int{collectors.Stale: -1}}) }},
	} {
		tp := newTape()
		c.play(tp)
		got := strings.Join(tp.faults, "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("faults %q, want %q", got, c.want)
		}
	}
}
