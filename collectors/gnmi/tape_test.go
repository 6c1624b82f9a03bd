package gnmi

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// tape is a sink that writes what it receives as lines: a series and its value, an
// edge, an event.
type tape struct {
	mu      sync.Mutex
	changed chan struct{}
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	decoder telemetry.Decoder
	frame   telemetry.Frame
	lines   []string
	quiet   bool // lines are not kept
	frames  int
	samples int
	gaps    int
	dropped map[collectors.Reason]int
	last    collectors.Sweep
	sweeps  int
	sources []telemetry.Time
	seen    map[string]int // samples by target
}

func newTape() *tape {
	return &tape{changed: make(chan struct{}, 1), schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, dropped: map[collectors.Reason]int{}, seen: map[string]int{}}
}

func (p *tape) Emit(r *telemetry.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.Kind {
	case telemetry.SchemaRecord:
		p.schemas[r.Schema.Fingerprint()] = r.Schema
	case telemetry.EdgeRecord:
		end := ""
		if r.Edge.End != 0 {
			end = " ended"
		}
		p.write("%s %s %s%s", r.Edge.From, r.Edge.Relation, r.Edge.To, end)
	case telemetry.EventRecord:
		p.write("%s %s %s", r.Event.Entity, r.Event.Name, r.Event.Text)
	case telemetry.FrameRecord:
		p.take(r.Frame)
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *tape) take(b telemetry.EncodedFrame) {
	h, err := b.Header()
	s := p.schemas[h.Fingerprint]
	if err != nil || s == nil {
		p.write("a frame of no schema: %v", err)
		return
	}
	if err := p.decoder.Decode(b, s, &p.frame); err != nil {
		p.write("%v", err)
		return
	}
	p.frames++
	p.sources = append(p.sources[max(0, len(p.sources)-100):], p.frame.Instants[0].Source)
	for i, w := range p.frame.Words {
		state := telemetry.Present
		if p.frame.States != nil {
			state = p.frame.States[i]
		}
		c := s.Columns[i/len(s.Entities)]
		switch {
		case state == telemetry.Gap:
			p.gaps++
			p.write("%v gap", s.Series(i))
		case state == telemetry.Present && c.Type == telemetry.Uint:
			p.sampled(s)
			p.write("%v %d", s.Series(i), w)
		case state == telemetry.Present:
			p.sampled(s)
			p.write("%v %g", s.Series(i), c.Float(w))
		}
	}
}

func (p *tape) sampled(s *telemetry.Schema) {
	p.samples++
	p.seen[s.Source.Target]++
}

func (p *tape) write(format string, args ...any) {
	if !p.quiet {
		p.lines = append(p.lines, fmt.Sprintf(format, args...))
	}
}

// Logger implements collectors.Sink.
func (p *tape) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (p *tape) Swept(s collectors.Sweep) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r, n := range s.Dropped {
		p.dropped[r] += n
	}
	p.last = s
	p.sweeps++
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// text returns the lines since the last time, sorted.
func (p *tape) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.lines)
	out := strings.Join(p.lines, "\n")
	p.lines = nil
	return out
}

// await waits until cond holds.
func (p *tape) await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		p.mu.Lock()
		ok := cond()
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-p.changed:
		case <-time.After(50 * time.Millisecond):
		case <-limit:
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Fatalf("waited for %s: %d frames, %d samples, dropped %v, last %+v", what, p.frames, p.samples, p.dropped, p.last)
		}
	}
}
