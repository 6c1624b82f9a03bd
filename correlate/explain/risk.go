package explain

import (
	"cmp"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Trouble is what is seen of an entity that may be a risk: it degrades no job yet.
type Trouble struct {
	Root      telemetry.Entity
	Signature *Signature
	Seen      telemetry.Series // what shows it; of an event its name is used as the metric
	Shape     telemetry.Shape
	Onset     telemetry.Interval
	Before    float64
	Now       float64
	Values    Values
	// Threatened are the jobs that depend on the root, and Entities the hosts
	// they run on that do, in identity order.
	Threatened []telemetry.Entity
	Entities   []telemetry.Entity
	// Awaited are upstream, in the order of the way there: it may have begun at each of
	// them as well, and they have not reported since.
	Awaited []telemetry.Entity
	// Left is when the first entity behind the root is degraded; nil where
	// that is not known.
	Left *Left
	// Missing lists what the log lost since shortly before the onset.
	Missing []Missing
}

// Left is a gauge that falls to 0: its value at a time, how fast it falls per
// second, and the standard error of that.
type Left struct {
	Series    telemetry.Series
	At        telemetry.Time
	Value     float64
	Fall, Err float64
}

// Seconds returns the time until it is 0, and its standard error.
func (l *Left) Seconds() (s, err float64) {
	s = max(0, l.Value) / l.Fall
	return s, float64(s * l.Err / l.Fall)
}

// Heeds returns the features without which a signature is not considered: those
// that are required, else the first that reads telemetry.
func (s *Signature) Heeds() []*Feature {
	var out []*Feature
	for i := range s.Features {
		if c := &s.Features[i]; c.Required && c.Reading != nil {
			out = append(out, c)
		}
	}
	for i := range s.Features {
		if c := &s.Features[i]; len(out) == 0 && c.Reading != nil {
			out = append(out, c)
		}
	}
	return out
}

// Foreseen returns the confidence that a feature of a precursor gives its signature,
// against unknown at even odds, and false where the feature is not fully there.
func (c *Feature) Foreseen(read func(*Feature) (float64, bool)) (confidence float64, values Values, ok bool) {
	x, seen := read(c)
	if !seen || c.Strength(x) < 1 {
		return 0, nil, false
	}
	return 1 / (1 + stats.Exp(-c.For)), Values{c.Key(): x}, true
}

// WeighRisk weighs a signature for an entity of a kind outside any job's degradation,
// by what read returns for each feature: its confidence against unknown at even
// odds, and false where a required feature is absent or unseen.
func (s *Signature) WeighRisk(root telemetry.Kind, read func(*Feature) (float64, bool)) (confidence float64, values Values, ok bool) {
	score, values := s.Prior, Values{}
	if !s.eitherOf(root, read) {
		return 0, nil, false
	}
	for i := range s.Features {
		c := &s.Features[i]
		if !c.AskedOf(root) {
			continue
		}
		x, seen := read(c)
		if !seen && c.Required {
			return 0, nil, false
		}
		if !seen {
			continue
		}
		values[c.Key()] = x
		st := c.Strength(x)
		if c.Required && st == 0 {
			return 0, nil, false
		}
		score += float64(st*c.For) + float64((1-st)*c.Against)
	}
	return 1 / (1 + stats.Exp(-score)), values, true
}

// WriteRisk writes a trouble into an incident of kind risk. No job is degraded:
// there is only a potential impact. What is awaited shares the confidence.
func (t *Writer) WriteRisk(in *Incident, x *Trouble, confidence float64) {
	ev := &Evidence{}
	if len(x.Threatened) > 0 {
		ev.Job = x.Threatened[0]
	}
	confidence = round(confidence/float64(1+len(x.Awaited)), 3)
	best := &Answer{Entity: x.Root, Signature: x.Signature, Values: x.Values, Confidence: confidence}
	in.Onset = x.Onset
	in.Root = Root{Entity: x.Root, Signature: x.Signature.Name, Domain: x.Signature.Domain, Confidence: confidence, Onset: x.Onset}
	in.Alternatives, in.Contributors, in.RuledOut, in.BlindSpots = []Alternative{}, []Contributor{}, []RuledOut{}, missing(x.Missing)
	for _, up := range x.Awaited {
		in.Alternatives = append(in.Alternatives, Alternative{up, x.Signature.Name, confidence})
	}
	in.Impact = Impact{Jobs: []JobImpact{}, Entities: append([]telemetry.Entity{}, x.Entities...)}
	in.Chain = []Link{t.seen(x)}
	in.Claims, in.Related = append(t.riskClaims(x), t.leftClaims(x)...), []Related{}
	in.Actions = t.actions(ev, best)
	in.Title = fmt.Sprintf("%s since %s ± %.0f s", risked(x), middle(x.Onset).Clock(), uncertainty(x.Onset)) + toCause + t.threat(in, ev, best)
	if l := x.Left; l != nil {
		s, err := l.Seconds()
		in.Title = fmt.Sprintf("%s %s %s in %.0f ± %.0f s if nothing is done.", in.Title, entityText(l.Series.Entity), x.Signature.Precursor.Then, s, err)
	}
	in.Severity = cmp.Or(x.Signature.RiskSeverity, SeverityWarning)
}

// threat is the second half of a risk's title: where its sentence names what another
// gauge would show, what was seen.
func (t *Writer) threat(in *Incident, e *Evidence, a *Answer) string {
	p := a.Signature.Precursor
	if p == nil {
		return t.cause(in, e, a)
	}
	if sentence, seen := t.filled(p.Sentence, e, a); seen {
		return sentence
	}
	for _, c := range a.Signature.PrecursorFeatures() {
		if v, seen := a.Values.read(c); seen && c.Strength(v) > 0 {
			return placeText(a.Entity, a.Alike) + ": " + t.why(c, e, a) + "."
		}
	}
	return t.fill(p.Sentence, e, a)
}

// riskClaims are the series that show a trouble: none where an event does.
func (t *Writer) riskClaims(x *Trouble) []Claim {
	if _, declared := t.Catalogue.Lookup(x.Seen.Metric); !declared {
		return []Claim{}
	}
	link, before := t.seen(x), round(x.Before, 6)
	return []Claim{{Text: link.Why, Value: round(x.Now, 6), Unit: link.Unit, Entity: x.Seen.Entity, Metric: x.Seen.Metric,
		From: x.Onset.Earliest, To: x.Onset.Latest, Baseline: &before}}
}

// leftClaims are the series that show when something is degraded.
func (t *Writer) leftClaims(x *Trouble) []Claim {
	l := x.Left
	if l == nil {
		return nil
	}
	c := Claim{Text: fmt.Sprintf("it falls by %.2g a second", l.Fall), Value: round(l.Value, 6), Entity: l.Series.Entity, Metric: l.Series.Metric, From: x.Onset.Earliest, To: l.At}
	if m, ok := t.Catalogue.Lookup(l.Series.Metric); ok {
		c.Unit = m.Unit
	}
	return []Claim{c}
}

// risked is the subject of the title: the jobs at risk.
func risked(x *Trouble) string {
	switch n := len(x.Threatened); n {
	case 0:
		return "No job is degraded or at risk, but"
	case 1:
		return x.Threatened[0].Name + " is at risk"
	default:
		return fmt.Sprintf("%s and %d more are at risk", x.Threatened[0].Name, n-1)
	}
}

// seen is the link that shows a trouble.
func (t *Writer) seen(x *Trouble) Link {
	l := Link{Entity: x.Seen.Entity, Domain: x.Signature.Domain, Metric: x.Seen.Metric, Shape: x.Shape.String(), Onset: x.Onset,
		Before: round(x.Before, 9), Now: round(x.Now, 9), Why: fmt.Sprintf("it is %.3g, before %.3g", x.Now, x.Before)}
	if m, ok := t.Catalogue.Lookup(x.Seen.Metric); ok {
		l.Domain, l.Unit = m.Domain, m.Unit
	} else {
		l.Why = "it happened"
	}
	return l
}
