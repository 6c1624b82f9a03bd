package notify_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/notify"
)

// BenchmarkDelivery is one revision of each of many incidents to a receiver that
// answers at once, over the real bucket on file storage: look, claim, mark.
func BenchmarkDelivery(b *testing.B) {
	s := serve(b, b.TempDir())
	engine := join(b, s, broker.All)
	if err := engine.Create(within(b, 20*time.Second)); err != nil {
		b.Fatal(err)
	}
	e, heard := newEar("ops"), make(chan struct{}, 1)
	own := join(b, s, broker.Notify)
	c := notify.Config{Bus: own, Incidents: own.Incidents(), Name: "test", Receivers: []notify.Receiver{{Name: e.name, Notifier: e}}}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- notify.Run(ctx, c) }()
	begun(b, engine)
	e.reply(func(context.Context, int, hearing) notify.Answer {
		heard <- struct{}{}
		return notify.Answer{Verdict: notify.Taken, Status: 200}
	})
	n := 0
	for b.Loop() {
		in := incident{id: fmt.Sprintf("inc-%d", n)}
		in.publish(b, engine, opened)
		<-heard
		n++
	}
	cancel()
	<-done
}
