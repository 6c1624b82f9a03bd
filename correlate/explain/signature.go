package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Signature is a named fault as data: the evidence for it, the evidence against it,
// which metrics are needed to distinguish it from its family, and what to do. The
// engine interprets it; rules reads it from a file.
//
// A candidate's score is Prior plus what its features contribute, in natural
// log-odds. Absent evidence counts against by a feature's Against.
type Signature struct {
	Name   string // "slow-receiver"
	Domain telemetry.Domain
	Expect Expect
	Roots  []telemetry.Kind // which kinds of entity can be its root
	// Family names the signatures that look alike, this one included; the
	// first is the answer where a needed metric is missing.
	Family []string
	Prior  float64 // log-odds before any feature
	// Together reports that all roots that show it alike have it together, as the
	// switches of a loop do: they are one place.
	Together bool
	// Corroborates reports that its evidence is valid corroborating evidence as soon as
	// it is seen: with one certainly slow step it may open an incident, with two where
	// it is of the software, and with several steps that are a little slow where it is
	// not of the network. Evidence from a comparison of loads may not: over a few
	// seconds a neighbour's burst looks like more load.
	Corroborates bool
	// CorroboratesAtOnce reports that it may do so with a step in progress, too: what is
	// broken is broken whatever the job does. Effects of the job's own traffic or
	// load are seen as soon as it does something else than a step, such as an
	// evaluation: these may only where there is waiting that cannot be chance
	// (SureDose).
	CorroboratesAtOnce bool
	Features           []Feature
	Needs              []Need
	// Sentence completes "<job> is 31 % slower since …: " in the incident's title.
	// {root}, {job} and {measure} are replaced by names and values.
	Sentence string
	// Precursor is what opens a risk before a job is degraded; nil where nothing does.
	Precursor  *Precursor
	precursors []*Feature // its features, once compiled
	while      []*Feature // those that must be there meanwhile
	// RiskSeverity is the severity of a risk of it; a warning if empty.
	RiskSeverity string
	Actions      []ActionTemplate
	Doc          string // what it is, for docs/signatures.md
}

// Precursor names the features each of which shows a fault at its root before any job
// is degraded by it, and the sentence of the risk that it opens.
type Precursor struct {
	Features []string
	Sentence string
	// While lists features that must be fully there, as far as they are reported: that
	// nothing else explains what the gauge of another feature does.
	While []string
	// Load, if any, is what the gauge of a feature follows: nothing is concluded where it
	// moved the same way, or is not known.
	Load telemetry.MetricName
	// Lasts is for how long a gauge of a feature must show it: of what comes and goes by
	// itself in seconds nothing is concluded.
	Lasts telemetry.Duration
	// Until, if any, is a gauge of the hosts behind the root that reaches 0 when
	// jobs are degraded, and Then what happens then, after its name.
	Until telemetry.MetricName
	Then  string
}

// PrecursorFeatures returns the features of the precursor, which must not be changed; none where
// there is no precursor.
func (s *Signature) PrecursorFeatures() []*Feature {
	if s.Precursor == nil || s.precursors != nil {
		return s.precursors
	}
	return s.named(s.Precursor.Features)
}

// While returns the features that must be fully there for a precursor to be one.
func (s *Signature) While() []*Feature {
	if s.Precursor == nil || s.while != nil {
		return s.while
	}
	return s.named(s.Precursor.While)
}

func (s *Signature) named(features []string) (out []*Feature) {
	for i := range s.Features {
		if slices.Contains(features, s.Features[i].Name) {
			out = append(out, &s.Features[i])
		}
	}
	return out
}

// OfLinks reports whether a feature is of what links show that are down, whether or not
// a job is degraded: how often the root went down, that it is, or which part of its links.
func (c *Feature) OfLinks() bool {
	return c.Measure == WentDown || c.Measure == DownNow || c.Measure == PeersDown
}

// OfParts reports whether a feature of a precursor reads which share of what is under the
// root did the same.
func (c *Feature) OfParts() bool {
	return c.Reading != nil && c.Reading.Of == OfUnder && (c.Reading.Take == TakeRatio || c.Reading.Take == TakeShift) && c.Reading.Among == AmongShare
}

// Expect is what an occurrence of a signature is.
type Expect string

// The expectations.
const (
	ExpectIncident Expect = "incident"
	ExpectRisk     Expect = "risk"
	ExpectBenign   Expect = "benign"
)

// Feature is a feature of a signature: one piece of evidence. Its value v is read for
// a candidate root; it contributes For at or beyond Full, Against at or before
// None, and the linear mix in between (None above Full means that less is more). A
// value that cannot be seen contributes nothing, and is a blind spot if the feature
// is needed.
type Feature struct {
	Name     string
	Measure  Measure  // a number that a mechanism derives for the candidate; or
	Reading  *Reading // one read from telemetry itself
	None     float64
	Full     float64
	For      float64 // log-odds, usually positive
	Against  float64 // log-odds, usually negative
	Required bool    // below None the signature is not considered at all
	Either   bool    // nor where all features that have this are below None or unseen
	// Roots are the kinds of root to which it applies; nil is all of the
	// signature's.
	Roots []telemetry.Kind
	// Why describes in words what was seen; {value} is replaced by the value.
	Why string

	key      Measure // of Reading, see Compile
	errorKey Measure // set by Compile: that of its standard error
}

// AskedOf reports whether the feature applies to a root of a kind.
func (c *Feature) AskedOf(root telemetry.Kind) bool {
	return c.Roots == nil || slices.Contains(c.Roots, root)
}

// Measure names a number that correlate's mechanisms derive for a candidate
// root. The list, with units and definitions, is Measures.
type Measure string

// Need is a metric without which the signature cannot be distinguished from its
// family.
type Need struct {
	Metric    telemetry.MetricName
	On        telemetry.Kind
	WouldTell string // "slow-receiver from pcie-downgrade"
}

// ActionTemplate is an action with {root}, {node} and {job} to be filled in.
// Target is one of root, node (what contains the root), job.
type ActionTemplate struct {
	Kind   string
	Target string
	Text   string
}

// MeasureDoc documents a measure for people who write signatures.
type MeasureDoc struct {
	Name Measure
	Unit string
	Doc  string
}
