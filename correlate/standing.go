package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// answer scores every signature for every candidate. What another degraded job's
// case has found already is more likely than a second fault at the same time.
func (e *caseBook) answer(ev *explain.Evidence) []explain.Answer {
	return explain.Judge(e.cfg.Signatures, e.candidates(ev), explain.JudgeConfig{Unknown: ev.Unnamed(), Keep: keepAnswers, Late: ev.Late})
}

// candidates lists what could be the root of a job's degradation, measured.
func (e *caseBook) candidates(ev *explain.Evidence) []explain.Candidate {
	cands := explain.Candidates(ev)
	for i := range cands {
		cands[i].In, _ = e.graph.Container(cands[i].Entity)
		cands[i].Above = e.graph.Above(cands[i].Entity)
		cands[i].AlsoNamed = e.sureSignature(cands[i].Entity, ev.Job)
		e.examiner.gauged(&cands[i])
		e.examiner.cut(&cands[i], ev.From)
	}
	addSuspects(ev, explain.Anomalies(cands))
	return cands
}

// gauged adds to a candidate's values those of its gauges that left their range, where
// the span of the degradation holds no sample of them: of a meter read twice a minute.
func (e *examiner) gauged(c *explain.Candidate) {
	for i := range e.signals.signalled {
		s := &e.signals.signalled[i]
		if s.series.Entity != c.Entity || !s.gauge() {
			continue
		}
		for k := range e.cfg.Signatures {
			feature := s.precursorFeature(&e.cfg.Signatures[k])
			if feature == nil {
				continue
			}
			if _, seen := c.Values[feature.Key()]; seen {
				continue
			}
			if x, ok := s.read(feature.Reading); ok {
				c.Values[feature.Key()] = x
			}
		}
	}
}

// cut adds to a candidate's values which part of its links is down since a time, and not
// with what supplies it: events report that before states do, of which some are read once
// a minute.
func (e *examiner) cut(c *explain.Candidate, since telemetry.Time) {
	for i := range e.signals.signalled {
		s := &e.signals.signalled[i]
		if s.kind != linkSignal || s.explained || s.series.Entity != c.Entity && s.series.Entity != c.Peer || s.onset.Latest < since {
			continue
		}
		for k := range e.cfg.Signatures {
			if feature := s.precursorFeature(&e.cfg.Signatures[k]); feature != nil && feature.Reading == nil {
				c.Values[feature.Key()] = max(c.Values[feature.Key()], s.now)
			}
		}
	}
}

// study returns the first answers to a case's evidence, keeps more of them in it and,
// where the configuration asks for it, puts their evidence into the output.
func (e *caseBook) study(ev *explain.Evidence, g telemetry.Time) []explain.Answer {
	cands := e.candidates(ev)
	if e.cfg.Study {
		e.out.Judgements = append(e.out.Judgements, explain.Judgement{At: g, Job: ev.Job, Candidates: cands, Unknown: ev.Unnamed()})
	}
	ev.Answers = explain.Judge(e.cfg.Signatures, cands, explain.JudgeConfig{Unknown: ev.Unnamed(), Keep: explain.Wide, Late: ev.Late})
	return slices.Clone(ev.Answers[:min(keepAnswers, len(ev.Answers))])
}

// sureSignature is the signature that an open case of another job names at an
// entity, if it is sure of it.
func (e *caseBook) sureSignature(x, job telemetry.Entity) string {
	for _, c := range e.cases {
		if r := &c.incident.Root; c.job != job && !c.well && c.judged != 0 && r.Entity == x && r.Confidence >= sure && r.Signature != explain.Unknown {
			return r.Signature
		}
	}
	return ""
}
