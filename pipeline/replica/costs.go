package replica

import (
	"cmp"
	"context"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/telemetry"
)

// CostQuestion asks for the losses, or for the use of GPU-seconds, in the last so
// many seconds; of one job, or, without one, of all.
type CostQuestion struct {
	Window float64          `json:"window_seconds"`
	Job    telemetry.Entity `json:"job"`
}

func costQuestion(req []byte) (q CostQuestion, length telemetry.Duration, err error) {
	q.Window = attribute.UsualWindow.Seconds()
	if err := decode(req, &q); err != nil {
		return q, 0, err
	}
	if !(q.Window > 0) || q.Window > attribute.LongestWindow.Seconds() {
		return q, 0, fmt.Errorf("question: window_seconds: %v: want more than 0 and at most %v", q.Window, attribute.LongestWindow.Seconds())
	}
	return q, telemetry.Duration(q.Window * 1e9), nil
}

// cost answers a question with what the engine's owner computes over its window.
func cost[T any](ctx context.Context, a *answers, req []byte, of func(*owner, CostQuestion, telemetry.Duration) (T, error)) (any, error) {
	q, length, err := costQuestion(req)
	if err != nil {
		return nil, err
	}
	var out T
	var answered error
	err = a.do(ctx, func(o *owner) { out, answered = of(o, q, length) })
	return out, cmp.Or(err, answered)
}

func (a *answers) losses(ctx context.Context, req []byte) (any, error) {
	return cost(ctx, a, req, func(o *owner, q CostQuestion, length telemetry.Duration) (attribute.Losses, error) {
		return o.runner.Losses(length, q.Job)
	})
}

func (a *answers) coupling(ctx context.Context, req []byte) (any, error) {
	return cost(ctx, a, req, func(o *owner, _ CostQuestion, length telemetry.Duration) (attribute.Matrix, error) {
		return o.runner.Coupling(length)
	})
}

func (a *answers) budget(ctx context.Context, req []byte) (any, error) {
	return cost(ctx, a, req, func(o *owner, q CostQuestion, length telemetry.Duration) (attribute.Budgets, error) {
		return o.runner.Budgets(length, q.Job)
	})
}

func (a *answers) bottlenecks(ctx context.Context, req []byte) (any, error) {
	return cost(ctx, a, req, func(o *owner, _ CostQuestion, length telemetry.Duration) (attribute.Bottlenecks, error) {
		return o.runner.Bottlenecks(length)
	})
}
