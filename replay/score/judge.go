package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Outcome is how a case ended.
type Outcome string

// The outcomes, the worst that applies. They are about finding, as precision
// and recall are: a hit may name the wrong root, and is then among the
// misses of the table.
const (
	Hit   Outcome = "hit"   // every fault found, nothing else reported
	Miss  Outcome = "miss"  // a fault was not found
	False Outcome = "false" // an incident that no fault explains
	Clean Outcome = "clean" // nothing happened and nothing was reported
)

// Verdict is the judgement of one fault.
type Verdict struct {
	Dir       string           `json:"dir"`
	Class     string           `json:"class"`
	Fabric    string           `json:"fabric"`
	Half      Half             `json:"half"`
	Expect    Expect           `json:"expect"`
	Signature string           `json:"signature"`
	Entity    telemetry.Entity `json:"entity"`
	// Instead lists everything that was reported about the run, judged or not, where
	// the fault was missed: "incast at port:leaf0/p2 (risk, opened 14:05:09)".
	Instead []string `json:"instead,omitempty"`
	// The answer; all zero and null where the fault was missed.
	Found              bool             `json:"found"`
	Incident           string           `json:"incident,omitempty"`
	Answer             telemetry.Entity `json:"answer"`
	AnswerSignature    string           `json:"answer_signature"`
	Confidence         float64          `json:"confidence"`
	Rank               int              `json:"rank"` // of the right entity: 1 the root, 2 the first alternative, 0 nowhere
	SignatureRight     bool             `json:"signature_right"`
	DomainRight        bool             `json:"domain_right"`
	domainJudged       bool             // the truth states a domain
	VictimAsRoot       bool             `json:"victim_as_root"`
	StepsInFault       int              `json:"steps_in_fault"`
	Loss               *float64         `json:"loss_s_per_step"`          // L
	LossEstimate       *float64         `json:"loss_estimate_s_per_step"` // L̂
	LossError          *float64         `json:"loss_error"`
	TimeToDetect       *float64         `json:"time_to_detect_s"`
	StepsToDetect      *float64         `json:"steps_to_detect"`       // the job's own steps since the onset
	UsualStepsToDetect *float64         `json:"usual_steps_to_detect"` // since the onset, in steps of the length before it
}

// FalseAlarm is a judged incident or risk that no fault explains.
type FalseAlarm struct {
	Dir       string           `json:"dir"`
	Class     string           `json:"class"`
	Incident  string           `json:"incident"`
	Opened    telemetry.Time   `json:"opened"`
	Answer    telemetry.Entity `json:"answer"`
	Signature string           `json:"signature"`
	// Confidence is that of the root.
	Confidence float64 `json:"confidence"`
	Benign     bool    `json:"benign"` // it accuses a benign change
}

// forecast is a published confidence and whether its root was right.
type forecast struct {
	p     float64
	right bool
}

// judged is everything that one case adds to the score.
type judged struct {
	c         *Case
	half      Half
	incidents []explain.Incident // final revisions, by opening
	outcome   Outcome
	main      sheet
	risks     sheet
	benign    sheet
}

// sheet is one table's share of a case, or of several cases together.
type sheet struct {
	cases     int
	healthy   float64 // seconds
	verdicts  []Verdict
	falses    []FalseAlarm
	forecasts []forecast
}

// judge judges one case.
func judge(c *Case, half Half) *judged {
	j := &judged{c: c, half: half, incidents: c.final()}
	var incidents, risks []*explain.Incident
	for i := range j.incidents {
		switch inc := &j.incidents[i]; {
		case inc.Kind == explain.KindRisk:
			risks = append(risks, inc)
		case c.Truth.judges(c.jobsOf(inc)):
			incidents = append(incidents, inc)
		}
	}
	left := j.pair(&j.main, ExpectIncident, incidents, c.sameJob)
	j.accuse(left)
	j.falseRisks(j.pair(&j.risks, ExpectRisk, risks, sameRoot))
	j.close()
	return j
}

// pair matches incidents with the faults of one expectation, writes a verdict
// for each fault, and returns the incidents left over.
func (j *judged) pair(s *sheet, want Expect, incidents []*explain.Incident, same func(*Fault, *explain.Incident) bool) []*explain.Incident {
	faults := j.faults(want)
	assigned := match(len(incidents), len(faults), func(i, f int) bool {
		return same(faults[f], incidents[i]) && j.c.meets(faults[f], incidents[i])
	})
	found := make([]*explain.Incident, len(faults))
	var left []*explain.Incident
	for i, f := range assigned {
		if f < 0 {
			left = append(left, incidents[i])
			continue
		}
		found[f] = incidents[i]
	}
	for i, f := range faults {
		v := j.verdict(f, found[i])
		s.verdicts = append(s.verdicts, v)
		if v.Found {
			s.forecast(found[i], v.Rank == 1)
		}
	}
	return left
}

// faults returns the faults of one expectation in the order in which they were
// first felt, as far as the truth states when that was, else by onset; then as
// the file has them.
func (j *judged) faults(want Expect) []*Fault {
	var out []*Fault
	for i := range j.c.Truth.Faults {
		if f := &j.c.Truth.Faults[i]; f.Expect == want || (f.Expect == "" && want == ExpectIncident) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *Fault) int { return cmp.Compare(a.felt(), b.felt()) })
	return out
}

// felt is when a job first felt the fault: incidents open by that, not by the
// onset of what takes minutes to be felt.
func (f *Fault) felt() telemetry.Time { return max(f.Onset, f.Degraded) }

// accuse classifies the incidents that no fault explains: one that names a benign
// change correctly counts as right in the table of benign changes; every other is
// false.
func (j *judged) accuse(left []*explain.Incident) {
	for _, inc := range j.pair(&j.benign, ExpectBenign, left, j.c.sameJob) {
		j.alarm(&j.main, inc, false)
	}
	for i := range j.benign.verdicts {
		if v := &j.benign.verdicts[i]; v.Found && !v.SignatureRight {
			inc := j.incidentByID(v.Incident)
			j.alarm(&j.main, inc, true)
			j.alarm(&j.benign, inc, true)
		}
	}
}

// falseRisks counts the risks that no fault explains. One at the root of a fault that
// degrades a job, in its time, is what was seen of it before or after. Where the truth
// judges only some jobs it has no bearing on trouble elsewhere, so a risk that
// touches none of them counts neither way.
func (j *judged) falseRisks(left []*explain.Incident) {
	degrading := j.faults(ExpectIncident)
	for _, inc := range left {
		seen := slices.ContainsFunc(degrading, func(f *Fault) bool { return sameRoot(f, inc) && j.c.meets(f, inc) })
		if !seen && j.c.Truth.judges(j.c.jobsOf(inc)) {
			j.alarm(&j.risks, inc, false)
		}
	}
}

func (j *judged) alarm(s *sheet, inc *explain.Incident, benign bool) {
	s.falses = append(s.falses, FalseAlarm{Dir: j.c.Dir, Class: j.c.class(), Incident: inc.ID, Opened: inc.Opened,
		Answer: inc.Root.Entity, Signature: inc.Root.Signature, Confidence: inc.Root.Confidence, Benign: benign})
	s.forecast(inc, false)
}

// forecast notes the confidence of an answer. An incident whose cause is under
// investigation names no root and so forecasts nothing.
func (s *sheet) forecast(inc *explain.Incident, right bool) {
	if answered(inc) {
		s.forecasts = append(s.forecasts, forecast{inc.Root.Confidence, right})
	}
}

// answered reports whether the incident names a root.
func answered(inc *explain.Incident) bool { return !inc.Root.Entity.IsZero() }

func (j *judged) incidentByID(id string) *explain.Incident {
	i := slices.IndexFunc(j.incidents, func(inc explain.Incident) bool { return inc.ID == id })
	return &j.incidents[i]
}

// close counts the case where it belongs and gives it its outcome.
func (j *judged) close() {
	j.main.cases, j.main.healthy = 1, j.c.healthy()
	j.risks.cases, j.risks.healthy = 1, j.main.healthy
	j.benign.cases, j.benign.healthy = 1, j.main.healthy
	missed := slices.ContainsFunc(j.main.verdicts, func(v Verdict) bool { return !v.Found })
	switch {
	case missed:
		j.outcome = Miss
	case len(j.main.falses) > 0:
		j.outcome = False
	case len(j.main.verdicts) > 0:
		j.outcome = Hit
	default:
		j.outcome = j.quietOutcome()
	}
}

// quietOutcome is the outcome of a case that expects no incident: judged by its
// risks and benign changes, where it has them.
func (j *judged) quietOutcome() Outcome {
	switch {
	case slices.ContainsFunc(j.risks.verdicts, func(v Verdict) bool { return !v.Found }):
		return Miss
	case len(j.risks.verdicts) > 0 || slices.ContainsFunc(j.benign.verdicts, func(v Verdict) bool { return v.Found }):
		return Hit
	}
	return Clean
}

// verdict judges what was reported about one fault; inc is nil for a miss.
func (j *judged) verdict(f *Fault, inc *explain.Incident) Verdict {
	s := j.c.stepsOf(f)
	v := Verdict{Dir: j.c.Dir, Class: j.c.class(), Fabric: j.c.fabric(), Half: j.half, Expect: cmp.Or(f.Expect, ExpectIncident),
		Signature: f.Signature, Entity: f.Entity, StepsInFault: s.count(f), domainJudged: f.Domain != 0}
	l, hasLoss := s.loss(f)
	if hasLoss {
		v.Loss = &l
	}
	if inc == nil {
		v.Instead = j.answers()
		return v
	}
	v.Found, v.Incident, v.Answer = true, inc.ID, inc.Root.Entity
	v.AnswerSignature, v.Confidence = inc.Root.Signature, inc.Root.Confidence
	v.Rank = rank(f, inc)
	v.SignatureRight = f.rightSignature(inc.Root.Signature)
	v.DomainRight = v.domainJudged && inc.Root.Domain == f.Domain
	v.VictimAsRoot = v.Rank != 1 && answered(inc) && j.c.victim(f, inc.Root.Entity)
	j.detection(&v, &s, f, inc)
	if estimate, ok := estimated(s.job, inc); ok {
		v.LossEstimate = &estimate
		if hasLoss {
			v.LossError = pointer(math.Abs(estimate-l) / l)
		}
	}
	return v
}

// answers puts every incident and risk of the run into words.
func (j *judged) answers() []string {
	var out []string
	for i := range j.incidents {
		inc := &j.incidents[i]
		out = append(out, fmt.Sprintf("%s (%s, opened %s)", rootText(inc.Root.Signature, inc.Root.Entity), inc.Kind, inc.Opened.Clock()))
	}
	return out
}

// detection writes the time to detect. An incident that was open before the
// degradation began counts as 0.
func (j *judged) detection(v *Verdict, s *steps, f *Fault, inc *explain.Incident) {
	at := j.c.published(inc)
	v.TimeToDetect = pointer(max(0, at.Sub(s.degradedSince(f)).Seconds()))
	if n, ok := s.until(at); ok {
		v.StepsToDetect = pointer(n)
	}
	if n, ok := s.usualUntil(at); ok {
		v.UsualStepsToDetect = pointer(n)
	}
}

// estimated is L̂: now less expected, from the incident's figures on the job that
// the true loss is of. Another job's may be in another unit: one that serves is held
// to its time to the first token.
func estimated(job telemetry.Entity, inc *explain.Incident) (float64, bool) {
	for i := range inc.Impact.Jobs {
		if h := &inc.Impact.Jobs[i]; h.Job == job && h.Now != nil && h.Expected != nil {
			return *h.Now - *h.Expected, true
		}
	}
	return 0, false
}

// rank is the place of the first right entity among the root and then the
// alternatives in order, 0 where there is none. Where no root is named its place
// stays empty: the first alternative is second all the same.
func rank(f *Fault, inc *explain.Incident) int {
	if f.rightEntity(inc.Root.Entity) {
		return 1
	}
	for i := range inc.Alternatives {
		if f.rightEntity(inc.Alternatives[i].Entity) {
			return i + 2
		}
	}
	return 0
}

// victim reports whether root, which is not right, is a victim of f.
func (c *Case) victim(f *Fault, root telemetry.Entity) bool {
	if slices.Contains(f.Victims, root) {
		return true
	}
	return neighbours(c.Edges, c.Truth.jobsOf(f), c.window(f)).has(root)
}

// meets reports whether the incident lived while the fault, or its grace, did.
func (c *Case) meets(f *Fault, inc *explain.Incident) bool {
	w := c.window(f)
	return inc.Opened <= w.Latest && c.closed(inc) >= w.Earliest
}

func (c *Case) sameJob(f *Fault, inc *explain.Incident) bool {
	return intersects(c.Truth.jobsOf(f), c.jobsOf(inc))
}

func sameRoot(f *Fault, inc *explain.Incident) bool { return f.rightEntity(inc.Root.Entity) }

func pointer(v float64) *float64 { return &v }
