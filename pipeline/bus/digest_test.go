package bus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// TestReadRefusesRevisionThatDoesNotMatchItsDigest: a revision whose content has
// changed since it was published is refused, counted and reported as damaged; the
// others are read.
func TestReadRefusesRevisionThatDoesNotMatchItsDigest(t *testing.T) {
	t.Parallel()
	s, _ := site(t)
	ctx := within(t, 20*time.Second)
	engine := join(t, s, broker.Engine)
	for revision := 1; revision <= 3; revision += 2 {
		if _, _, err := engine.PublishIncident(ctx, "inc-1", revision, []byte("as published")); err != nil {
			t.Fatal(err)
		}
	}
	js, err := jetstream.New(client(t, s, broker.All))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "quintet-lab-incidents")
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetMsg(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	changed := &nats.Msg{Subject: "quintet.v1.lab.incidents.inc-1.2", Header: m.Header, Data: []byte("as publishes")}
	if _, err := js.PublishMsg(ctx, changed); err != nil {
		t.Fatal(err)
	}
	set := metrics.NewSet()
	reader := join(t, s, broker.Notify, func(c *bus.Config) { c.Metrics = set })
	var read []string
	if err := reader.Incidents().Read(ctx, func(r bus.Revision) error {
		read = append(read, fmt.Sprintf("%d %s", r.Number, r.Data))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "[1 as published 3 as published]"; fmt.Sprint(read) != want {
		t.Errorf("read %q, want %q", read, want)
	}
	if n := set.GetOrCreateCounter(`quintet_bus_damaged_revisions_total{stream="incidents"}`).Get(); n != 1 {
		t.Errorf("%d damaged revisions are counted, want 1", n)
	}
	list, err := reader.Incidents().Foreign(ctx)
	if err != nil || len(list) != 1 || !list[0].Damaged || list[0].Sequence != 3 {
		t.Errorf("foreign entries: %+v, %v", list, err)
	}
}
