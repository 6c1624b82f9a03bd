package evaluation

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// WriteTable prints one row for each set, then why sets are absent.
func (r *Result) WriteTable(w io.Writer) error {
	err := table(w, func(line func(...string)) {
		head := []string{"set"}
		for _, c := range Columns() {
			head = append(head, c.Title)
		}
		line(head...)
		for i := range r.Sets {
			row := &r.Sets[i]
			cells := []string{row.Set}
			for _, c := range Columns() {
				value := number(c.of(&row.Figures), c.Digits)
				if row.Absent != "" {
					value = "-"
				}
				cells = append(cells, value)
			}
			line(cells...)
		}
	})
	for i := range r.Sets {
		if row := &r.Sets[i]; row.Absent != "" {
			_, more := fmt.Fprintf(w, "%s: absent: %s\n", row.Set, row.Absent)
			err = errors.Join(err, more)
		}
	}
	return err
}

// WriteDetail prints for each set its reliability diagram and the cases that were
// not answered right.
func (r *Result) WriteDetail(w io.Writer) error {
	var all error
	for i := range r.Sets {
		if row := &r.Sets[i]; row.Absent == "" {
			all = errors.Join(all, row.writeReliability(w), row.writeWrong(w))
		}
	}
	return all
}

func (row *Row) writeReliability(w io.Writer) error {
	if len(row.Reliability) == 0 {
		return nil
	}
	f := &row.Figures
	_, err := fmt.Fprintf(w, "\n%s: reliability of %d answers, expected calibration error %s (%s by chance alone), Brier %s\n",
		row.Set, f.Answers, number(f.ECE, 3), number(f.ECECalibrated, 3), number(f.Brier, 3))
	return errors.Join(err, table(w, func(line func(...string)) {
		line("confidence", "n", "mean", "right", "")
		for _, b := range row.Reliability {
			share := float64(b.Right) / float64(b.Answers)
			line(fmt.Sprintf("%.1f to %.1f", b.From, b.To), fmt.Sprint(b.Answers), number(&b.Confidence, 2), number(&share, 2), bar(share, b.Confidence))
		}
	}))
}

// bar draws the share that is right over ten cells, with a mark at the mean
// confidence: of calibrated answers the bar ends at the mark.
func bar(share, confidence float64) string {
	const width = 20
	cells := []rune(strings.Repeat("·", width))
	for i := range int(share*width + 0.5) {
		cells[i] = '█'
	}
	cells[min(int(confidence*width), width-1)] = '|'
	return string(cells)
}

func (row *Row) writeWrong(w io.Writer) error {
	wrong := row.wrong()
	if len(wrong) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s: not answered right\n", row.Set)
	return errors.Join(err, table(w, func(line func(...string)) {
		line("case", "truth", "answer", "confidence", "what")
		for _, cells := range wrong {
			line(cells...)
		}
	}))
}

// wrong lists faults whose root is not named first, and incidents that no fault
// explains.
func (row *Row) wrong() (out [][]string) {
	for i := range row.Faults {
		v := &row.Faults[i]
		if v.Expect != score.ExpectIncident || v.Rank == 1 {
			continue
		}
		truth := v.Signature + " at " + v.Entity.String()
		switch {
		case !v.Found:
			out = append(out, []string{v.Dir, truth, "none", "-", "missed"})
		case v.Answer.IsZero():
			out = append(out, []string{v.Dir, truth, "under investigation", "-", place(v)})
		default:
			out = append(out, []string{v.Dir, truth, answer(v.AnswerSignature, v.Answer), number(&v.Confidence, 2), place(v)})
		}
	}
	for i := range row.FalseAlarms {
		f := &row.FalseAlarms[i]
		truth := "no fault"
		if f.Benign {
			truth = "benign change"
		}
		out = append(out, []string{f.Dir, truth, answer(f.Signature, f.Answer), confidence(f), "false, opened " + f.Opened.Clock()})
	}
	return out
}

func answer(signature string, root telemetry.Entity) string {
	if root.IsZero() {
		return "under investigation"
	}
	return signature + " at " + root.String()
}

// confidence is that of a false answer, "-" of one that names no root.
func confidence(f *score.FalseAlarm) string {
	if f.Answer.IsZero() {
		return "-"
	}
	return number(&f.Confidence, 2)
}

// place reports what is wrong with a root, and where the right one is.
func place(v *score.Verdict) string {
	what := "root"
	if v.VictimAsRoot {
		what = "victim"
	}
	if v.Rank > 1 {
		what += fmt.Sprintf(", right is answer %d", v.Rank)
	}
	return what
}

// table prints lines of cells in columns.
func table(w io.Writer, fill func(line func(cells ...string))) error {
	tab := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	var first error
	fill(func(cells ...string) {
		if _, err := fmt.Fprintln(tab, strings.TrimRight(strings.Join(cells, "\t"), "\t")); first == nil {
			first = err
		}
	})
	if err := errors.Join(first, tab.Flush()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// number prints a figure, "-" where it is not defined.
func number(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, *v)
}
