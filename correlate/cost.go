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
	*sight
	roll      *roll
	incidents *caseBook
	counts    *Counts

	ledger attribute.Ledger
	usage  attribute.Usage
	turn   telemetry.Entity // the job whose GPU-seconds were filed last
	models []described      // in identity order of job
	spare  spare
}

// enter books what a case's incident has cost so far.
func (e *caseBook) enter(c *incidentCase, g telemetry.Time) {
	lost, other := c.impact.GPUSecondsLost, 0.0
	if b := c.concurrent; b.isPublished() {
		if b.account == nil {
			b.account = &attribute.Account{}
			b.account.Start(lost)
		}
		other = b.share()
		e.assign(b.account, &b.published, &b.incident)
		b.account.MFU = c.mfu()
		b.account.Book(g, lost, other)
	}
	own := min(c.impact.Share, 1-other)
	e.assignOwn(c)
	c.account.Book(g, lost, own)
	c.remainder.Cause, c.remainder.MFU = attribute.Cause{Root: c.job, Signature: explain.Unknown}, c.mfu()
	c.remainder.Book(g, lost, max(0, 1-own-other))
}

// mfu is the job's utilisation before; negative where it is not known.
func (c *incidentCase) mfu() float64 {
	if m := c.impact.MFUBefore; m != nil {
		return *m
	}
	return -1
}

// isPublished reports whether a second incident is published.
func (b *concurrentFault) isPublished() bool { return b != nil && b.published.Revision > 0 }

// share is the part of the job's loss that a second incident explains.
func (b *concurrentFault) share() float64 {
	if len(b.incident.Impact.Jobs) == 0 {
		return 0
	}
	return b.incident.Impact.Jobs[0].Share
}

// shareAgain keeps two incidents' shares of one job's loss where only the loss is
// updated.
func (c *incidentCase) shareAgain(next *explain.Incident) {
	b := c.concurrent
	if !b.isPublished() || len(b.incident.Impact.Jobs) == 0 {
		return
	}
	fresh, other := next.Impact.Jobs[0], b.share()
	next.Impact.Jobs[0] = fresh.Part(min(c.impact.Share, 1-other))
	b.incident.Impact.Jobs[0] = fresh.Part(other)
}

// assignOwn assigns a case's loss to the root that was published.
func (e *caseBook) assignOwn(c *incidentCase) {
	published := &e.primary(c).published
	if published.Revision == 0 {
		published = &c.incident
	}
	e.assign(&c.account, published, &c.incident)
	c.account.MFU = c.mfu()
}

// assign assigns an account to the root that was published, or to an unknown one at
// the job. own is the incident as of now, whose chain goes to the job.
func (e *caseBook) assign(a *attribute.Account, published, own *explain.Incident) {
	a.Cause = attribute.Cause{Root: published.Root.Entity, Signature: published.Root.Signature, Domain: published.Root.Domain}
	if published.Root.Entity.IsZero() && len(own.Impact.Jobs) > 0 {
		a.Cause.Root, a.Cause.Signature = own.Impact.Jobs[0].Job, explain.Unknown
	}
	if a.Cause.Signature == explain.Unknown {
		a.Cause.Domain = 0
	}
	a.Benign = e.expects(published) == explain.ExpectBenign
	chain := published.Chain
	if own.Root.Entity == published.Root.Entity && own.Root.Signature == published.Root.Signature {
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
func (e *caseBook) closeAccounts(all []*incidentCase, g telemetry.Time) {
	for _, c := range all {
		e.assignOwn(c)
		e.ledger.Close(c.job, &c.account, g)
		e.ledger.Close(c.job, &c.remainder, g)
		c.account, c.remainder = attribute.Account{}, attribute.Account{}
		e.closeConcurrent(c, g)
	}
}

// closeConcurrent enters what a case's second incident has cost for good.
func (e *caseBook) closeConcurrent(c *incidentCase, g telemetry.Time) {
	if b := c.concurrent; b != nil && b.account != nil {
		e.ledger.Close(c.job, b.account, g)
		b.account = nil
	}
}

// openAccounts lists the accounts of the open cases, in identity order of job.
func (e *caseBook) openAccounts() []attribute.Open {
	var out []attribute.Open
	for _, c := range e.cases {
		out = append(out, attribute.Open{Job: c.job, Account: &c.account}, attribute.Open{Job: c.job, Account: &c.remainder})
		if b := c.concurrent; b != nil && b.account != nil {
			out = append(out, attribute.Open{Job: c.job, Account: b.account})
		}
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

// Losses returns what was lost in the last length of time, and to what; a zero job
// means all jobs.
func (e *Engine) Losses(length telemetry.Duration, job telemetry.Entity) (attribute.Losses, error) {
	w, err := attribute.Last(length, e.sight.now())
	if err != nil {
		return attribute.Losses{}, err
	}
	return e.costs.ledger.Losses(w, job, e.incidents.openAccounts(), &e.costs.usage), nil
}

// Coupling returns through which domains the losses of the last length of time
// passed.
func (e *Engine) Coupling(length telemetry.Duration) (attribute.Matrix, error) {
	w, err := attribute.Last(length, e.sight.now())
	if err != nil {
		return attribute.Matrix{}, err
	}
	return e.costs.ledger.Coupling(w, e.incidents.openAccounts()), nil
}

// now is the newest grid that the prompt class has closed.
func (e *sight) now() telemetry.Time {
	if e.at == 0 {
		return 0
	}
	return e.at.Add(-e.cfg.Lateness[telemetry.Prompt])
}

// Budgets returns where the GPU-seconds of the fleet and of every job, or of one
// job, went in the last length of time.
func (e *Engine) Budgets(length telemetry.Duration, job telemetry.Entity) (attribute.Budgets, error) {
	w, err := attribute.Last(length, e.sight.now())
	if err != nil {
		return attribute.Budgets{}, err
	}
	lost := e.costs.ledger.Losses(w, telemetry.Entity{}, e.incidents.openAccounts(), &e.costs.usage)
	return e.costs.usage.Budgets(w, job, &lost, func(job telemetry.Entity) attribute.Described {
		d := e.costs.describe(job)
		return attribute.Described{Model: d.model, Basis: d.basis}
	}), nil
}

// Bottlenecks returns the bottlenecks of the last length of time.
func (e *Engine) Bottlenecks(length telemetry.Duration) (attribute.Bottlenecks, error) {
	w, err := attribute.Last(length, e.sight.now())
	if err != nil {
		return attribute.Bottlenecks{}, err
	}
	return e.costs.usage.Bottlenecks(w), nil
}
