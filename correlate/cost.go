package correlate

import (
	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// costs is what the site's incidents cost and where its GPU-seconds go. Nothing
// is judged by it.
type costs struct {
	ledger attribute.Ledger
	usage  attribute.Usage
	turn   telemetry.Entity // the job whose GPU-seconds were filed last
	models []described      // in identity order of job
	spare  spare
}

// enter books what a case's incident has cost so far.
func (e *Engine) enter(c *incidentCase, g telemetry.Time) {
	e.assign(c)
	c.account.Book(g, float64(c.impact.GPUSecondsLost*c.impact.Share))
}

// assign puts a case's loss down to the root that readers were told of.
func (e *Engine) assign(c *incidentCase) {
	lead := e.leader(c)
	a, told := &c.account, &lead.published
	if told.Revision == 0 {
		told = &c.incident
	}
	a.Cause = attribute.Cause{Root: told.Root.Entity, Signature: told.Root.Signature, Domain: told.Root.Domain}
	if a.Cause.Signature == explain.Unknown {
		a.Cause.Domain = 0
	}
	a.Benign = e.expected(a.Cause.Signature) == explain.ExpectBenign
	a.MFU = -1
	if m := c.impact.MFUBefore; m != nil {
		a.MFU = *m
	}
	chain := told.Chain
	if own := &c.incident; own.Root.Entity == told.Root.Entity && own.Root.Signature == told.Root.Signature {
		chain = own.Chain // to this job, and as of now
	}
	a.Links = a.Links[:0]
	for k := 1; k < len(chain); k++ {
		if chain[k-1].Domain != 0 && chain[k].Domain != 0 {
			a.Links = append(a.Links, attribute.Coupling{From: chain[k-1].Domain, To: chain[k].Domain, Lag: chain[k].LagSeconds})
		}
	}
}

// closeAccounts enters what the cases of a resolved incident have cost for good.
func (e *Engine) closeAccounts(all []*incidentCase, g telemetry.Time) {
	for _, c := range all {
		e.assign(c)
		e.costs.ledger.Close(c.job, &c.account, g)
		c.account = attribute.Account{}
	}
}

// openAccounts lists the accounts of the open cases, in identity order of job.
func (e *Engine) openAccounts() []attribute.Open {
	var out []attribute.Open
	for _, c := range e.cases {
		out = append(out, attribute.Open{Job: c.job, Account: &c.account})
	}
	return out
}

func (k *costs) snapshot(c *snapshot.Codec) {
	k.ledger.Snapshot(c)
	k.usage.Snapshot(c)
	c.Entity(&k.turn)
	snapshot.List(c, &k.models, 64, codeDescribed)
	k.spare.snapshot(c)
}

// Losses says what was lost in the last length of time, and by what; a zero
// job means all jobs.
func (e *Engine) Losses(length telemetry.Duration, job telemetry.Entity) (attribute.Losses, error) {
	w, err := attribute.Last(length, e.now())
	if err != nil {
		return attribute.Losses{}, err
	}
	return e.costs.ledger.Losses(w, job, e.openAccounts(), &e.costs.usage), nil
}

// Coupling says through which domains the losses of the last length of time
// passed.
func (e *Engine) Coupling(length telemetry.Duration) (attribute.Matrix, error) {
	w, err := attribute.Last(length, e.now())
	if err != nil {
		return attribute.Matrix{}, err
	}
	return e.costs.ledger.Coupling(w, e.openAccounts()), nil
}

// now is the newest grid that the prompt class has closed.
func (e *Engine) now() telemetry.Time {
	if e.at == 0 {
		return 0
	}
	return e.at.Add(-e.cfg.Lateness[telemetry.Prompt])
}

// Budgets says where the GPU-seconds of the fleet and of every job, or of one
// job, went in the last length of time.
func (e *Engine) Budgets(length telemetry.Duration, job telemetry.Entity) (attribute.Budgets, error) {
	w, err := attribute.Last(length, e.now())
	if err != nil {
		return attribute.Budgets{}, err
	}
	lost := e.costs.ledger.Losses(w, telemetry.Entity{}, e.openAccounts(), &e.costs.usage)
	return e.costs.usage.Budgets(w, job, &lost, func(job telemetry.Entity) attribute.Described {
		d := e.costs.describe(job)
		return attribute.Described{Model: d.model, Basis: d.basis}
	}), nil
}

// Bottlenecks says what held the work back in the last length of time.
func (e *Engine) Bottlenecks(length telemetry.Duration) (attribute.Bottlenecks, error) {
	w, err := attribute.Last(length, e.now())
	if err != nil {
		return attribute.Bottlenecks{}, err
	}
	return e.costs.usage.Bottlenecks(w), nil
}
