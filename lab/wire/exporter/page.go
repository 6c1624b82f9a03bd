package exporter

import (
	"math"
	"strconv"

	"github.com/quintet-dc/quintet/lab/board"
)

// page is a page of metrics as it is written.
type page struct {
	board *board.Board
	text  []byte
	lines int
}

// family begins a metric.
func (p *page) family(name, is, help string) {
	p.text = append(p.text, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+is+"\n"...)
}

// line writes a sample. Labels are as they stand between the braces.
func (p *page) line(name, labels, value string) {
	p.text = append(p.text, name...)
	if labels != "" {
		p.text = append(append(append(p.text, '{'), labels...), '}')
	}
	p.text = append(append(append(p.text, ' '), value...), '\n')
	p.lines++
}

// whole writes a reading times a power of ten, rounded to a whole number.
func whole(r board.Reading, power int) string {
	shift := power - int(r.Column.Exp)
	w := r.Word
	for ; shift > 0; shift-- {
		w *= 10
	}
	for ; shift < 0; shift++ {
		w = (w + 5*b2u(shift == -1)) / 10
	}
	return strconv.FormatUint(w, 10)
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// six writes a reading as C does a double: with six decimals.
func six(r board.Reading) string { return strconv.FormatFloat(r.Float(), 'f', 6, 64) }

// shortest writes a number as Go's client for Prometheus does: the shortest text
// that is the same float.
func shortest(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
