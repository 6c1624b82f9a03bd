package correlate

import (
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// answer weighs every signature for every candidate. What another hurt job's
// case has found already is more likely than a second fault at the same time.
func (e *Engine) answer(ev *explain.Evidence) []explain.Answer {
	cands := explain.Candidates(ev)
	for i := range cands {
		cands[i].Stands = e.standing(cands[i].Entity, ev.Job)
	}
	accuse(ev, explain.Odd(cands))
	return explain.JudgeBeside(e.cfg.Signatures, cands, ev.Unnamed(), keepAnswers)
}

// standing is the signature that an open case of another job names at an
// entity, if it is sure of it.
func (e *Engine) standing(x, job telemetry.Entity) string {
	for _, c := range e.cases {
		if r := &c.incident.Root; c.job != job && !c.well && c.judged != 0 && r.Entity == x && r.Confidence >= sure && r.Signature != explain.Unknown {
			return r.Signature
		}
	}
	return ""
}
