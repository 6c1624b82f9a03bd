package accuracy

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/score"
)

// World is the score of one family of worlds.
type World struct {
	Family  string
	Dropped int // cases that physics does not allow
	Report  score.Report
	cases   []score.Case
}

// ByWorld scores the outcomes of one family.
func ByWorld(family string, outcomes []cases.Outcome) World {
	w := World{Family: family}
	for i := range outcomes {
		if o := &outcomes[i]; o.Dropped == "" {
			w.cases = append(w.cases, o.Score)
		} else {
			w.Dropped++
		}
	}
	w.Report = score.Judge(w.cases, score.Settings{})
	return w
}

// WriteWorlds prints a line for each family and one for all.
func WriteWorlds(out io.Writer, ws []World) error {
	tab := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tab, "family\tcases\tdropped\tfaults\tfound\tfalse\tF1\tAC@1\tAC@3\tdomain\tvictims\tBrier\tloss error\tseconds p50\tp95\tbenign false")
	var all World
	for i := range ws {
		ws[i].line(tab, ws[i].Family)
		all.Dropped += ws[i].Dropped
		all.cases = append(all.cases, ws[i].cases...)
	}
	all.Report = score.Judge(all.cases, score.Settings{})
	all.line(tab, "all")
	if err := tab.Flush(); err != nil {
		return fmt.Errorf("write table of worlds: %w", err)
	}
	return nil
}

// line prints one family.
func (w *World) line(out io.Writer, name string) {
	g := &w.Report.Detail.Total
	d, m := &g.Detail, &g.Metrics
	benign := 0
	if b := w.Report.Detail.Benign; b != nil {
		benign = b.Detail.FalseIncidents
	}
	fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", name, len(w.cases), w.Dropped, d.Faults, d.Found,
		d.FalseIncidents, figure(m.F1), figure(m.AC1), figure(m.AC3), figure(m.DomainAccuracy), figure(m.VictimAsRoot), figure(m.Brier),
		figure(m.LossError), seconds(m.TimeToDetectP50), seconds(m.TimeToDetectP95), benign)
}

func figure(x *float64) string { return formatted("%.3f", x) }

func seconds(x *float64) string { return formatted("%.1f", x) }

// formatted is a figure, or a dash where there is none.
func formatted(format string, x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf(format, *x)
}
