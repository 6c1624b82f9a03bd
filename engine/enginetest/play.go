package enginetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// Recording is a log in memory.
type Recording struct {
	Log      []telemetry.Record
	Lateness telemetry.Lateness
}

// Open reads a bundle's folder.
func Open(dir string) (*Recording, error) {
	b, err := bundle.Open(dir)
	if err != nil {
		return nil, err
	}
	rec := &Recording{Lateness: b.Site.Lateness}
	err = b.Records(func(r *telemetry.Record) error {
		rec.Log = append(rec.Log, *r)
		return nil
	})
	return rec, err
}

// signatures reads those that are part of the project, once.
var signatures = sync.OnceValues(rules.Standard)

var catalogue = sync.OnceValue(telemetry.DefaultCatalogue)

// NewRunner returns a runner with the signatures that are part of the project.
func NewRunner(slices int) (*engine.Runner, error) {
	set, err := signatures()
	if err != nil {
		return nil, err
	}
	return engine.New(engine.Config{Slices: slices, Correlate: correlate.Config{Signatures: set.Signatures, Rules: set.Digest, Catalogue: catalogue()}})
}

// Played is what a log brought about.
type Played struct {
	Runner    *engine.Runner
	Published string // each published revision as JSON, one a line, in order
	Findings  string // each finding that began or ended, one a line, in order
}

// Play applies a log, its first record at position 1.
func Play(log []telemetry.Record, slices int) (*Played, error) {
	r, err := NewRunner(slices)
	if err != nil {
		return nil, err
	}
	return Continue(r, log)
}

// Continue applies a log after what r has seen.
func Continue(r *engine.Runner, log []telemetry.Record) (*Played, error) {
	var out, findings bytes.Buffer
	position, _ := r.Position()
	for i := range log {
		position++
		changed, err := r.Apply(position, &log[i])
		if err != nil {
			return nil, err
		}
		for k := range changed {
			b, err := engine.Canonical(&changed[k])
			if err != nil {
				return nil, err
			}
			out.Write(append(b, '\n'))
		}
		for _, f := range r.Output().Findings {
			writeFinding(&findings, &f)
		}
	}
	return &Played{Runner: r, Published: out.String(), Findings: findings.String()}, nil
}

// writeFinding writes the content of a finding, numbers to the last bit. Its slot
// is left out: an index is not an identity (I4).
func writeFinding(w *bytes.Buffer, f *detect.Finding) {
	fmt.Fprintf(w, "%s %s %v %v %v before %x now %x score %x\n", f.Series, f.Shape, f.Onset.Earliest, f.Onset.Latest, f.Ended, f.Before, f.Now, f.Score)
}

// State returns the digest of everything the engine knows: equal only if every
// number in it is, to the last bit.
func (p *Played) State() (string, error) {
	b, err := p.Runner.Snapshot()
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), nil
}

// Diff states where two streams of lines begin to differ, or "".
func Diff(got, want string) string {
	if got == want {
		return ""
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		x, y := line(a, i), line(b, i)
		if x == y {
			continue
		}
		at := 0
		for at < len(x) && at < len(y) && x[at] == y[at] {
			at++
		}
		from := max(0, at-60)
		return fmt.Sprintf("line %d of %d, %d wanted:\n got …%.160s\nwant …%.160s", i+1, len(a)-1, len(b)-1, x[min(from, len(x)):], y[min(from, len(y)):])
	}
	return ""
}

func line(lines []string, i int) string {
	if i < len(lines) && lines[i] != "" {
		return lines[i]
	}
	return "(nothing)"
}
