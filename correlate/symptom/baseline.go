package symptom

import (
	"errors"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Baseline is what every entity of a survey did before a degradation, kept by
// identity while the degradation lasts: the survey may be redrawn meanwhile, and
// the window does not keep it.
type Baseline struct {
	span  Span
	kinds []kindBefore // in order of kind
}

// kindBefore is what the entities of one kind did.
type kindBefore struct {
	kind     telemetry.Kind
	metrics  []telemetry.MetricName
	bits     []uint64
	entities []telemetry.Entity // in identity order of meeting
	mean     []float32          // by entity and column; NaN where it was not seen
	spread   []float32
	run      []float32
	err      []float32
}

// Keep makes a baseline of a sheet.
func Keep(sh *Sheet) *Baseline {
	b := &Baseline{span: sh.span}
	for k, kind := range sh.plan.kinds {
		kb := kindBefore{kind: kind}
		for _, c := range sh.plan.columns[k] {
			kb.metrics, kb.bits = append(kb.metrics, c.metric.Name), append(kb.bits, c.bits)
		}
		for i, e := range sh.survey.all {
			if e.Kind == kind {
				kb.keep(e, sh.rows[i])
			}
		}
		if len(kb.entities) > 0 {
			b.kinds = append(b.kinds, kb)
		}
	}
	return b
}

// keep adds an entity of which anything was seen.
func (k *kindBefore) keep(e telemetry.Entity, row []Stat) {
	seen := false
	for _, s := range row {
		seen = seen || s.Seen > 0
	}
	if !seen {
		return
	}
	k.entities = append(k.entities, e)
	for _, s := range row {
		if s.Seen == 0 {
			s = Stat{Mean: nan()}
		}
		k.mean, k.spread, k.run, k.err = append(k.mean, s.Mean), append(k.spread, s.Spread), append(k.run, s.Run), append(k.err, s.Err)
	}
}

// On lays the baseline on a survey.
func (b *Baseline) On(p *Plan, s *Survey) *Sheet {
	sh := p.sheet(s, b.span)
	for k := range b.kinds {
		kb := &b.kinds[k]
		to := make([]int, len(kb.metrics))
		for c := range to {
			to[c] = p.find(kb.kind, kb.metrics[c], kb.bits[c])
		}
		for n, e := range kb.entities {
			i, ok := s.index[e]
			if !ok {
				continue
			}
			row := sh.rows[i]
			for c, at := range to {
				v := kb.mean[n*len(to)+c]
				if at >= 0 && v == v {
					row[at] = Stat{Seen: 1, Mean: v, Least: v, Most: v, Spread: kb.spread[n*len(to)+c], Run: kb.run[n*len(to)+c], Err: kb.err[n*len(to)+c]}
				}
			}
		}
	}
	return sh
}

var errShape = errors.New("baseline: as many values as entities and columns wanted")

// Snapshot writes or restores the baseline.
func (b *Baseline) Snapshot(c *snapshot.Codec) {
	c.Time(&b.span.From)
	c.Time(&b.span.To)
	snapshot.List(c, &b.kinds, 24, func(c *snapshot.Codec, k *kindBefore) {
		c.String((*string)(&k.kind))
		snapshot.List(c, &k.metrics, 4, func(c *snapshot.Codec, m *telemetry.MetricName) { c.String((*string)(m)) })
		snapshot.List(c, &k.bits, 8, (*snapshot.Codec).U64)
		snapshot.List(c, &k.entities, 8, (*snapshot.Codec).Entity)
		c.F32s(&k.mean)
		c.F32s(&k.spread)
		c.F32s(&k.run)
		c.F32s(&k.err)
		want := len(k.entities) * len(k.metrics)
		if len(k.bits) != len(k.metrics) || len(k.mean) != want || len(k.spread) != want || len(k.run) != want || len(k.err) != want {
			c.Fail(errShape)
		}
	})
}
