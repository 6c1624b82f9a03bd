package collectors

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxPrinted bounds the series that a Printer keeps.
const maxPrinted = 1 << 18

// Printer is a Sink for people: it keeps what would be sent and prints it. It
// may be used by several goroutines at once.
type Printer struct {
	mu      sync.Mutex
	samples telemetry.SampleReader
	values  map[telemetry.Series]printed
	notes   []string
	dropped map[Reason]int
	errs    []error
}

// printed is the newest word of a series.
type printed struct {
	column telemetry.Column
	word   uint64
	gap    bool
}

// NewPrinter returns a Printer with nothing in it.
func NewPrinter() *Printer {
	return &Printer{
		values:  map[telemetry.Series]printed{},
		dropped: map[Reason]int{},
	}
}

// Emit keeps the newest sample of each series, and a line for each edge and
// event.
func (p *Printer) Emit(r *telemetry.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.Kind {
	case telemetry.SchemaRecord:
		p.samples.Learn(r.Schema)
	case telemetry.FrameRecord:
		if err := p.addFrame(r.Frame); err != nil {
			p.errs = append(p.errs, err)
		}
	case telemetry.EdgeRecord:
		p.note(edgeLine(r.Edge))
	case telemetry.EventRecord:
		p.note(fmt.Sprintf("event %s %s %s", r.Event.Entity, r.Event.Name, r.Event.Text))
	}
}

// Swept adds up what was dropped and why.
func (p *Printer) Swept(s Sweep) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r, n := range s.Dropped {
		p.dropped[r] += n
	}
	if s.Err != nil {
		p.errs = append(p.errs, s.Err)
	}
}

// Logger returns a logger that discards: a dry run returns its errors.
func (p *Printer) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (p *Printer) note(line string) {
	if len(p.notes) < maxPrinted {
		p.notes = append(p.notes, line)
	}
}

func (p *Printer) addFrame(b telemetry.EncodedFrame) error {
	samples, err := p.samples.Read(b)
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	for x := range samples {
		if _, old := p.values[x.Series]; !old && len(p.values) >= maxPrinted {
			return fmt.Errorf("print: more than %d series", maxPrinted)
		}
		p.values[x.Series] = printed{x.Column, x.Word, x.State == telemetry.Gap}
	}
	return nil
}

// Print writes the newest sample of each series as OpenMetrics text: one a
// line, with the labels kind and name, ordered by metric, kind and name, exact
// to the last digit; a gap is NaN. The last line is "# EOF". It returns what
// could not be kept or written.
func (p *Printer) Print(w io.Writer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := bufio.NewWriter(w)
	for _, s := range slices.SortedFunc(maps.Keys(p.values), byMetric) {
		v := p.values[s]
		fmt.Fprintf(out, "%s %s\n", sampleName(s), v)
	}
	out.WriteString("# EOF\n")
	return errors.Join(append(p.errs, out.Flush())...)
}

// PrintNotes writes what OpenMetrics has no place for, a line each: edges and
// events in the order they came, then what was dropped, by reason.
func (p *Printer) PrintNotes(w io.Writer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := bufio.NewWriter(w)
	for _, line := range p.notes {
		fmt.Fprintln(out, line)
	}
	for _, r := range slices.Sorted(maps.Keys(p.dropped)) {
		fmt.Fprintf(out, "dropped %s %d\n", r, p.dropped[r])
	}
	return out.Flush()
}

func byMetric(a, b telemetry.Series) int {
	return cmp.Or(cmp.Compare(a.Metric, b.Metric), a.Entity.Compare(b.Entity))
}

// sampleName writes a series as OpenMetrics does. A name that is not a legacy
// Prometheus name is quoted among the labels.
func sampleName(s telemetry.Series) string {
	labels := fmt.Sprintf("kind=%s,name=%s", quoted(string(s.Entity.Kind)), quoted(s.Entity.Name))
	if plainName(string(s.Metric)) {
		return fmt.Sprintf("%s{%s}", s.Metric, labels)
	}
	return fmt.Sprintf("{%s,%s}", quoted(string(s.Metric)), labels)
}

// quoted escapes what OpenMetrics escapes, and nothing else.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

func plainName(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == ':'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// String writes the value exactly.
func (v printed) String() string {
	switch {
	case v.gap:
		return "NaN"
	case v.column.Type == telemetry.Uint:
		return strconv.FormatUint(v.word, 10)
	case v.column.Type == telemetry.Decimal:
		return decimal(int64(v.word), int(v.column.Exp))
	}
	return strconv.FormatFloat(math.Float64frombits(v.word), 'g', -1, 64)
}

// decimal writes v over ten to the exp without rounding.
func decimal(v int64, exp int) string {
	sign, abs := "", uint64(v)
	if v < 0 {
		sign, abs = "-", -abs
	}
	digits := strconv.FormatUint(abs, 10)
	if exp == 0 {
		return sign + digits
	}
	if len(digits) <= exp {
		digits = strings.Repeat("0", exp-len(digits)+1) + digits
	}
	whole, part := digits[:len(digits)-exp], strings.TrimRight(digits[len(digits)-exp:], "0")
	if part == "" {
		return sign + whole
	}
	return sign + whole + "." + part
}

func edgeLine(e *telemetry.Edge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "edge %s %s %s", e.From, e.Relation, e.To)
	for _, a := range e.Attrs {
		fmt.Fprintf(&b, " %s=%q", a.Key, a.Value)
	}
	if e.End != 0 {
		b.WriteString(" ended")
	}
	return b.String()
}
