package score

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/quintet-dc/quintet/telemetry"
)

// WriteTable prints the score for people: one line per class and the total,
// with counts rather than ratios; then halves, fabrics, the tables of their
// own, calibration, and every fault that was not answered right with what was
// answered instead.
func (r *Report) WriteTable(w io.Writer) error {
	p := &printer{tab: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
	d := &r.Detail
	if d.Coarsen > 1 {
		p.line("one sample in %d kept", d.Coarsen)
	}
	p.groups("class", sortedKeys(d.Classes), func(name string) Group { return d.Classes[name] }, &d.Total)
	p.totals(d.Total)
	p.heading("halves, by a hash of the run's name")
	p.groups("half", []string{string(HalfA), string(HalfB)}, func(h string) Group { return d.Halves[Half(h)] }, nil)
	p.fabrics(d.Fabrics)
	p.ownTable("risks", d.Risks)
	p.ownTable("benign changes", d.Benign)
	p.calibration(d)
	p.wrong(d)
	return p.finish()
}

// printer writes lines of columns; it keeps the first error.
type printer struct {
	tab *tabwriter.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.tab, format+"\n", args...)
	}
}

// heading ends the table before it, so that its columns do not widen the next.
func (p *printer) heading(text string) {
	if p.err == nil {
		p.err = p.tab.Flush()
	}
	p.line("")
	p.line("%s", text)
}

func (p *printer) finish() error {
	if p.err == nil {
		p.err = p.tab.Flush()
	}
	if p.err != nil {
		return fmt.Errorf("write score table: %w", p.err)
	}
	return nil
}

const columns = "runs\tfound\tfalse\tAC@1\tAC@3\tMRR\tsignature\tdomain\tvictims\tloss error\tseconds p50\tp95\tsteps p50\tp95"

func (p *printer) groups(head string, names []string, of func(string) Group, total *Group) {
	p.line("%s\t%s", head, columns)
	for _, name := range names {
		p.group(name, of(name))
	}
	if total != nil {
		p.group("total", *total)
	}
}

func (p *printer) group(name string, g Group) {
	d, m := &g.Detail, &g.Metrics
	p.line("%s\t%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", name, d.Cases,
		of(d.Found, d.Faults), d.FalseIncidents, of(d.RightFirst, d.Faults), of(d.RightInThree, d.Faults), number(m.MRR, 3),
		of(d.SignatureRight, d.Faults), of(d.DomainRight, d.DomainFaults), of(d.VictimsAsRoot, d.Faults),
		number(m.LossError, 3), number(m.TimeToDetectP50, 1), number(m.TimeToDetectP95, 1),
		number(d.StepsToDetectP50, 1), number(d.StepsToDetectP95, 1))
}

// totals prints the ratios next to the counts of the total.
func (p *printer) totals(g Group) {
	d, m := &g.Detail, &g.Metrics
	p.heading("total")
	p.line("precision %s (%d/%d)\trecall %s (%d/%d)\tF1 %s", number(m.Precision, 3), d.Found, d.Found+d.FalseIncidents,
		number(m.Recall, 3), d.Found, d.Faults, number(m.F1, 3))
	p.line("AC@1 %s\tAC@3 %s\tMRR %s", number(m.AC1, 3), number(m.AC3, 3), number(m.MRR, 3))
	p.line("signature %s\tdomain %s\tvictims as root %d", number(m.SignatureAccuracy, 3), number(m.DomainAccuracy, 3), d.VictimsAsRoot)
	p.line("loss error median %s\t90th percentile %s\tover %d faults", number(m.LossError, 3), number(d.LossErrorP90, 3), d.LossErrors)
	p.line("  %d steps or more: median %s\t90th percentile %s\tover %d faults", longSteps, number(d.LossErrorLong, 3),
		number(d.LossErrorLongP90, 3), d.LossErrorsLong)
	p.line("detected after p50 %s s\tp95 %s s\tover %d found", number(m.TimeToDetectP50, 1), number(m.TimeToDetectP95, 1), d.Found)
	p.line("  in the job's steps: p50 %s\tp95 %s\tin usual steps: p50 %s, p95 %s", number(d.StepsToDetectP50, 2),
		number(d.StepsToDetectP95, 2), number(d.UsualStepsP50, 2), number(d.UsualStepsP95, 2))
	p.line("false incidents per healthy hour %s\tat most %s (95 %%)\tin %.2f h", number(m.FalseIncidentsPerHour, 2),
		number(d.FalsePerHourUpper95, 2), d.HealthyHours)
}

func (p *printer) fabrics(fs []FabricGroup) {
	if len(fs) < 2 {
		return
	}
	p.heading("one fabric left out")
	p.line("fabric\t%s", columns)
	for _, f := range fs {
		p.group(f.Fabric, f.LeftOut)
		p.group("  all others", f.Others)
	}
}

func (p *printer) ownTable(name string, g *Group) {
	if g == nil {
		return
	}
	p.heading(name)
	p.line("\t%s", columns)
	p.group("total", *g)
}

func (p *printer) calibration(d *Breakdown) {
	if len(d.Reliability) == 0 {
		return
	}
	p.heading(fmt.Sprintf("confidence: Brier %s, a constant would score %s", number(d.Total.Metrics.Brier, 3), number(d.Total.Detail.BrierConstant, 3)))
	p.line("confidence\tanswers\tright\tmean confidence")
	for _, b := range d.Reliability {
		p.line("%.1f to %.1f\t%d\t%s\t%.2f", b.From, b.To, b.Answers, of(b.Right, b.Answers), b.Confidence)
	}
}

// wrong lists what was not answered right, and what was answered instead.
func (p *printer) wrong(d *Breakdown) {
	var lines []string
	for i := range d.Faults {
		if t := d.Faults[i].complaint(); t != "" {
			lines = append(lines, t)
		}
	}
	for _, f := range d.FalseAlarms {
		lines = append(lines, f.complaint("false"))
	}
	for _, f := range d.FalseRisks {
		lines = append(lines, f.complaint("false risk"))
	}
	if len(lines) == 0 {
		return
	}
	p.heading("not right")
	for _, t := range lines {
		p.line("%s", t)
	}
}

// complaint states in one line what is wrong with the answer, "" where nothing
// is. A benign change that drew no incident is well.
func (v *Verdict) complaint() string {
	wanted := v.Signature + " at " + v.Entity.String()
	if !v.Found {
		if v.Expect == ExpectBenign {
			return ""
		}
		instead := "nothing"
		if len(v.Instead) > 0 {
			instead = strings.Join(v.Instead, "; ")
		}
		return fmt.Sprintf("%s\tmissed\t%s\tanswered %s", v.Dir, wanted, instead)
	}
	var what []string
	if v.Rank != 1 {
		what = append(what, "root")
	}
	if !v.SignatureRight {
		what = append(what, "signature")
	}
	if v.domainJudged && !v.DomainRight {
		what = append(what, "domain")
	}
	if v.VictimAsRoot {
		what = append(what, "victim as root")
	}
	if what == nil {
		return ""
	}
	answer := rootText(v.AnswerSignature, v.Answer)
	if !v.Answer.IsZero() {
		answer += fmt.Sprintf(" (%.2f)", v.Confidence)
	}
	if v.Rank > 1 {
		answer += fmt.Sprintf(", right one is answer %d", v.Rank)
	}
	return fmt.Sprintf("%s\t%s\t%s\tanswered %s", v.Dir, strings.Join(what, ", "), wanted, answer)
}

func (f *FalseAlarm) complaint(what string) string {
	wanted := "nothing"
	if f.Benign {
		wanted = "a benign change"
	}
	return fmt.Sprintf("%s\t%s\t%s\tanswered %s (opened %s)", f.Dir, what, wanted, rootText(f.Signature, f.Answer), f.Opened.Clock())
}

// rootText puts a root in words. One without an entity is not named yet.
func rootText(signature string, root telemetry.Entity) string {
	if root.IsZero() {
		return "cause under investigation"
	}
	return signature + " at " + root.String()
}

// of prints a count out of a whole, "-" where there is no whole.
func of(a, b int) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", a, b)
}

func number(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, *v)
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
