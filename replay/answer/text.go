package answer

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Evidence is what underlies the answers: findings by the entity they are
// about. Nil prints answers without it.
type Evidence map[telemetry.Entity][]detect.Finding

// maxFindings bounds what is shown of the findings behind one incident.
const maxFindings = 24

// Write prints one incident as a block of text: the sentence first, then root,
// chain, impact, what else it could be, what it is not, what could not be seen,
// and what to do. Times in the chain are relative to the incident's onset.
func Write(w io.Writer, in *explain.Incident, behind Evidence) error {
	b := &block{origin: in.Onset.Latest}
	b.line(in.Title)
	b.item("", strings.Join(b.header(in), " · "))
	b.root(in)
	b.chain(in, behind != nil)
	b.impact(in)
	for i, a := range in.Elsewhere() {
		b.item(first(i, "or"), fmt.Sprintf("%s at %s, %s", a.Signature, a.Entity, percent(a.Confidence)))
	}
	for i, r := range in.RuledOut {
		b.item(first(i, "not"), fmt.Sprintf("%s: %s", r.Domain, r.Why))
	}
	for i, s := range in.BlindSpots {
		b.item(first(i, "unseen"), b.blindSpot(s))
	}
	for i, a := range in.Actions {
		b.item(first(i, "do"), fmt.Sprintf("%s %s: %s", a.Kind, a.Target, a.Text))
	}
	if behind != nil {
		b.evidence(in, behind)
	}
	b.line("")
	_, err := w.Write(b.out.Bytes())
	return err
}

// block is the text of one incident being put together.
type block struct {
	out    bytes.Buffer
	origin telemetry.Time
}

func (b *block) line(s string) { b.out.WriteString(s + "\n") }

func (b *block) item(label, text string) { fmt.Fprintf(&b.out, "  %-9s %s\n", label, text) }

// first gives the label to the first of several lines.
func first(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

func (b *block) header(in *explain.Incident) []string {
	out := []string{in.ID, in.Kind, in.Severity, in.State, "opened " + in.Opened.Clock()}
	if in.Resolved != nil {
		out = append(out, "resolved "+in.Resolved.Clock())
	}
	if in.Resolution != nil {
		out = append(out, *in.Resolution)
	}
	if in.MergedInto != nil {
		out = append(out, "into "+*in.MergedInto)
	}
	return append(out, fmt.Sprintf("revision %d", in.Revision))
}

func (b *block) root(in *explain.Incident) {
	r := &in.Root
	b.item("root", fmt.Sprintf("%s at %s (%s), confidence %s, since %s", r.Signature, r.Entity, r.Domain, percent(r.Confidence), around(r.Onset)))
	for i, c := range in.Contributors {
		b.item(first(i, "with"), fmt.Sprintf("%s, %s of it", c.Entity, percent(c.Share)))
	}
}

func (b *block) chain(in *explain.Incident, why bool) {
	for i, l := range in.Chain {
		text := fmt.Sprintf("%s %s %s %s: %s", b.offset(l.Onset), l.Entity, l.Metric, l.Shape, change(l.Before, l.Now, l.Unit))
		if !l.From.IsZero() {
			text += fmt.Sprintf(", from %s (%s)", l.From, l.Relation)
		}
		b.item(first(i, "chain"), text)
		if why && l.Why != "" {
			b.item("", "           "+l.Why)
		}
	}
}

// offset formats an onset relative to the incident's: "+1.0 ± 0.5 s".
func (b *block) offset(i telemetry.Interval) string {
	middle := (i.Earliest.Sub(b.origin).Seconds() + i.Latest.Sub(b.origin).Seconds()) / 2
	half := i.Latest.Sub(i.Earliest).Seconds() / 2
	return fmt.Sprintf("%+7.1f ± %.1f s", middle, half)
}

func (b *block) impact(in *explain.Incident) {
	for i, j := range in.Impact.Jobs {
		text := fmt.Sprintf("%s %s", j.Job, j.State)
		if j.Now != nil && j.Before != nil {
			text += fmt.Sprintf(": %s %s, before %s", j.Measure, number(*j.Now), number(*j.Before))
		}
		if j.Slowdown != nil {
			text += fmt.Sprintf(" (×%.2f)", *j.Slowdown)
		}
		if j.MFUNow != nil && j.MFUBefore != nil {
			text += fmt.Sprintf(", MFU %s, before %s", percent(*j.MFUNow), percent(*j.MFUBefore))
		}
		text += fmt.Sprintf(", %s GPU-seconds lost", number(math.Round(j.GPUSecondsLost)))
		if j.Share != 1 {
			text += fmt.Sprintf(", %s of the job's loss", percent(j.Share))
		}
		b.item(first(i, "degrades"), text)
	}
}

func (b *block) blindSpot(s explain.BlindSpot) string {
	text := s.Entity.String()
	if s.Metric != "" {
		text += " " + string(s.Metric)
	}
	text += ": " + s.Reason
	if s.WouldTell != "" {
		text += "; would distinguish " + s.WouldTell
	}
	return text
}

// evidence lists the findings on the entities that the incident refers to, as
// far as they overlap it.
func (b *block) evidence(in *explain.Incident, behind Evidence) {
	shown, more := 0, 0
	for _, e := range spokenOf(in) {
		for i := range behind[e] {
			f := &behind[e][i]
			if in.Resolved != nil && f.Onset.Earliest > *in.Resolved || f.Ended != 0 && f.Ended < in.Onset.Earliest {
				continue
			}
			if shown == maxFindings {
				more++
				continue
			}
			until := ""
			if f.Ended != 0 {
				until = fmt.Sprintf(", until %+.1f s", f.Ended.Sub(b.origin).Seconds())
			}
			b.item(first(shown, "evidence"), fmt.Sprintf("%s %s %s %s: %s → %s, score %s%s", b.offset(f.Onset), f.Series.Entity, f.Series.Metric, f.Shape,
				number(f.Before), number(f.Now), number(f.Score), until))
			shown++
		}
	}
	if more > 0 {
		b.item("", fmt.Sprintf("and %d more findings", more))
	}
}

// spokenOf lists the entities of an incident, each once.
func spokenOf(in *explain.Incident) []telemetry.Entity {
	var out []telemetry.Entity
	seen := map[telemetry.Entity]bool{}
	add := func(e telemetry.Entity) {
		if !e.IsZero() && !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	add(in.Root.Entity)
	for i := range in.Chain {
		add(in.Chain[i].Entity)
	}
	for i := range in.Impact.Jobs {
		add(in.Impact.Jobs[i].Job)
	}
	for _, c := range in.Contributors {
		add(c.Entity)
	}
	return out
}

// around formats an interval as a moment: "02:46:30 ± 15 s".
func around(i telemetry.Interval) string {
	half := i.Latest.Sub(i.Earliest) / 2
	return fmt.Sprintf("%s ± %s s", i.Earliest.Add(half).Clock(), number(math.Round(half.Seconds()*10)/10))
}

func change(before, now float64, unit string) string {
	if unit == "" || unit == "1" {
		return number(before) + " → " + number(now)
	}
	return number(before) + " → " + number(now) + " " + unit
}

func percent(v float64) string { return strconv.FormatFloat(math.Round(1000*v)/10, 'f', -1, 64) + " %" }

// number prints three digits that count, and large numbers with a suffix.
func number(v float64) string {
	for _, s := range []struct {
		of   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if math.Abs(v) >= s.of {
			return strconv.FormatFloat(v/s.of, 'f', 2, 64) + " " + s.name
		}
	}
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
