package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// Deliveries returns the state of every incident at every receiver, as far back as
// the bucket reaches, newest first.
func Deliveries(ctx context.Context, b Bus) ([]Delivery, error) {
	kv, err := b.KeyValue(ctx, bus.Deliveries)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	w, err := kv.Watch(ctx, deliveryPrefix+">", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	defer func() { _ = w.Stop() }()
	var out []Delivery
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("list deliveries: %w", ctx.Err())
		case e, more := <-w.Updates():
			if e == nil || !more { // nil: that was all there is
				slices.SortFunc(out, func(a, b Delivery) int {
					return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Incident, b.Incident), cmp.Compare(a.Receiver, b.Receiver))
				})
				return out, nil
			}
			if d, err := parseDelivery(e.Value()); err == nil {
				out = append(out, d)
			}
		}
	}
}
