package ibdiag

import (
	"errors"
	"fmt"
	"strings"
)

// Why a text is refused as a whole.
var (
	// ErrEmpty means that there is no text: the program was cut off, or printed
	// nothing.
	ErrEmpty = errors.New("the report is empty")
	// ErrForm means that the text is another kind of report.
	ErrForm = errors.New("another form of report")
)

// Fault is a line that does not mean anything. Lines count from 1.
type Fault struct {
	Line int
	Text string
}

func (f Fault) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.Text) }

// maxFaults is how many faults of a report are kept; the rest are counted.
const maxFaults = 20

// Faults are the lines of a report that do not mean anything.
type Faults struct {
	Count int
	First []Fault // at most 20
}

func (f *Faults) add(line int, format string, args ...any) {
	f.Count++
	if len(f.First) < maxFaults {
		f.First = append(f.First, Fault{line, fmt.Sprintf(format, args...)})
	}
}

// Err returns the faults as one error, nil if there are none.
func (f *Faults) Err() error {
	if f.Count == 0 {
		return nil
	}
	var b strings.Builder
	for i, x := range f.First {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(x.String())
	}
	if more := f.Count - len(f.First); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return errors.New(b.String())
}

// forms are how the reports of programs begin, and what they are.
var forms = []struct{ prefix, what string }{
	{"CA ", "a list of ports (ibnetdiscover -p)"},
	{"SW ", "a list of ports (ibnetdiscover -p)"},
	{"RT ", "a list of ports (ibnetdiscover -p)"},
	{"CA '", "the state of local adapters (ibstat)"},
	{"# Port", "counters of ports (perfquery)"},
	{"# Topology file", "a topology in full (ibnetdiscover)"},
	{"vendid=", "a topology in full (ibnetdiscover)"},
	{"sminfo:", "the subnet manager's state (sminfo)"},
	{"====", "the hardware of one switch (ibswinfo)"},
}

// another returns why a text that had nothing to be read in it is refused.
func another(text []byte, want string) error {
	s := strings.TrimSpace(string(text[:min(len(text), 400)]))
	if s == "" {
		return ErrEmpty
	}
	what := "not known"
	for _, line := range strings.Split(s, "\n") {
		line = strings.TrimSpace(line)
		// The more particular beginning is later in the list.
		for _, f := range forms {
			if strings.HasPrefix(line, f.prefix) {
				what = f.what
			}
		}
		if what != "not known" {
			break
		}
	}
	if what == want {
		return fmt.Errorf("%w: missing: %s", ErrForm, want)
	}
	return fmt.Errorf("%w: %s, want %s", ErrForm, what, want)
}
