package replica

import (
	"context"

	"github.com/quintet-dc/quintet/telemetry"
)

// Maintenance is the answer to AskMaintenance.
type Maintenance struct {
	Entities []telemetry.Entity `json:"entities"`
}

func (a *answers) maintenance(ctx context.Context, _ []byte) (any, error) {
	out := Maintenance{Entities: []telemetry.Entity{}}
	err := a.do(ctx, func(o *owner) { out.Entities = append(out.Entities, o.runner.Maintained()...) })
	return out, err
}
