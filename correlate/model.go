package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// described is what a job has reported of its model.
type described struct {
	job   telemetry.Entity
	model attribute.Model
	basis string // how its utilisation by the PaLM convention came about
}

func (d described) compare(job telemetry.Entity) int { return d.job.Compare(job) }

// maxDescribed bounds the jobs whose models are kept.
const maxDescribed = 65536

// model takes what an event reports of a job's model. One that cannot be read is
// counted and leaves what was known.
func (e *costs) model(ev *telemetry.Event) {
	if ev.Name != attribute.ModelEvent || ev.Entity.Kind != telemetry.Job {
		return
	}
	m, err := attribute.ParseModel(ev.Text)
	if err != nil {
		e.counts.ModelsRefused++
		return
	}
	if d := e.meet(ev.Entity); d != nil {
		d.model = m
	} else {
		e.counts.ModelsRefused++
	}
}

// meet returns what a job has reported, kept from now on; nil beyond the bound.
func (k *costs) meet(job telemetry.Entity) *described {
	i, ok := slices.BinarySearchFunc(k.models, job, described.compare)
	if !ok {
		if len(k.models) >= maxDescribed {
			return nil
		}
		k.models = slices.Insert(k.models, i, described{job: job})
	}
	return &k.models[i]
}

// describe returns what a job has reported, if anything.
func (k *costs) describe(job telemetry.Entity) described {
	if i, ok := slices.BinarySearchFunc(k.models, job, described.compare); ok {
		return k.models[i]
	}
	return described{job: job}
}

// basis records from what a job's utilisation was computed.
func (k *costs) basis(job telemetry.Entity, basis string) {
	if d := k.meet(job); d != nil {
		d.basis = basis
	}
}

// forget drops what was reported by a job that is over.
func (k *costs) forget(job telemetry.Entity) {
	if i, ok := slices.BinarySearchFunc(k.models, job, described.compare); ok {
		k.models = slices.Delete(k.models, i, i+1)
	}
}

func codeDescribed(c *snapshot.Codec, d *described) {
	c.Entity(&d.job)
	d.model.Snapshot(c)
	c.String(&d.basis)
}
