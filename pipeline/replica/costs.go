package replica

import (
	"cmp"
	"context"
	"encoding/json"
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
	if len(req) > 0 {
		if err := json.Unmarshal(req, &q); err != nil {
			return q, 0, fmt.Errorf("question: %w", err)
		}
	}
	if !(q.Window > 0) || q.Window > attribute.LongestWindow.Seconds() {
		return q, 0, fmt.Errorf("question: window_seconds: %v: want more than 0 and at most %v", q.Window, attribute.LongestWindow.Seconds())
	}
	return q, telemetry.Duration(q.Window * 1e9), nil
}

func (a *answers) losses(ctx context.Context, req []byte) (any, error) {
	q, length, err := costQuestion(req)
	if err != nil {
		return nil, err
	}
	var out attribute.Losses
	var told error
	err = a.do(ctx, func(o *owner) { out, told = o.runner.Losses(length, q.Job) })
	return out, cmp.Or(err, told)
}

func (a *answers) coupling(ctx context.Context, req []byte) (any, error) {
	_, length, err := costQuestion(req)
	if err != nil {
		return nil, err
	}
	var out attribute.Matrix
	var told error
	err = a.do(ctx, func(o *owner) { out, told = o.runner.Coupling(length) })
	return out, cmp.Or(err, told)
}

func (a *answers) budget(ctx context.Context, req []byte) (any, error) {
	q, length, err := costQuestion(req)
	if err != nil {
		return nil, err
	}
	var out attribute.Budgets
	var told error
	err = a.do(ctx, func(o *owner) { out, told = o.runner.Budgets(length, q.Job) })
	return out, cmp.Or(err, told)
}

func (a *answers) bottlenecks(ctx context.Context, req []byte) (any, error) {
	_, length, err := costQuestion(req)
	if err != nil {
		return nil, err
	}
	var out attribute.Bottlenecks
	var told error
	err = a.do(ctx, func(o *owner) { out, told = o.runner.Bottlenecks(length) })
	return out, cmp.Or(err, told)
}
