package replica

import (
	"cmp"
	"context"
	"fmt"

	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxFound bounds the answer to AskFind.
const maxFound = 200

// ReachQuestion asks how much is received of each domain, and of an entity
// unless it is zero.
type ReachQuestion struct {
	Entity telemetry.Entity `json:"entity"`
}

// Reach is the answer to AskReach.
type Reach struct {
	Tick    *telemetry.Time      `json:"tick"`
	Domains []survey.DomainReach `json:"domains"`
	Entity  *survey.Reach        `json:"entity,omitempty"`
}

// reach answers AskReach.
func (a *answers) reach(ctx context.Context, req []byte) (any, error) {
	var q ReachQuestion
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	var out Reach
	err := a.do(ctx, func(o *owner) {
		out.Tick = stated(o.runner.Tick())
		current := map[telemetry.Source]bool{}
		for _, s := range o.runner.Sources() {
			current[s.Source] = !s.Stale
		}
		stale := func(of telemetry.Source) bool { return !current[of] }
		out.Domains = o.census.Domains(cmp.Or(a.cfg.Engine.Correlate.Catalogue, telemetry.DefaultCatalogue()), stale)
		if !q.Entity.IsZero() {
			r := o.census.Entity(q.Entity, stale)
			out.Entity = &r
		}
	})
	return out, err
}

// FindQuestion asks for the entities whose kind:name contains a text.
type FindQuestion struct {
	Text  string `json:"text"`
	Limit int    `json:"limit"`
}

// Found is the answer to AskFind.
type Found struct {
	Entities []telemetry.Entity `json:"entities"`
}

// find answers AskFind.
func (a *answers) find(ctx context.Context, req []byte) (any, error) {
	q := FindQuestion{Limit: maxFound}
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	if q.Text == "" || q.Limit < 1 || q.Limit > maxFound {
		return nil, fmt.Errorf("question: want a text and a limit of 1 to %d", maxFound)
	}
	out := Found{Entities: []telemetry.Entity{}}
	err := a.do(ctx, func(o *owner) { out.Entities = o.census.Find(q.Text, q.Limit) })
	return out, err
}
