package jobs_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// A scenario lists what a job does, one line after another; everything below
// -want- is what the book reported, and at which second. Lines are
//
//	3.3 x20            twenty steps of 3.3 s, each reported at its end
//	3.3 5.1 x10        the two in turn, ten times
//	report 3.3 of 10 x5   five reports, each the mean of ten steps of 3.3 s
//	quiet 20           twenty seconds in which nothing is reported
//	event job_failed   what happened, now
//	working, idle      whether the job is seen to work while reports are missing;
//	resting            that nothing is launched on its GPUs
//	threatened         something that it depends on is in trouble from now on
//	corroborated, alone   whether there is corroborating evidence
//	delay 13           its reports become visible 13 s later from here on
//
// and a length that is none (0, NaN, -1, inf) is reported a second after the last.
// Lines that begin with # are for the reader. A line "skip WHY" states that
// the book does not yet do what is expected.
type scenario struct {
	acts []act
	end  float64 // seconds
	skip string  // why it is not held against the book yet
}

// act is one thing that happens, at seconds from the beginning.
type act struct {
	at      float64
	length  float64 // of a step, where event and mood are empty
	event   telemetry.EventName
	mood    string // "working", "idle", "resting", "corroborated", "alone" or "threatened"
	delay   float64
	visible float64
}

// epoch is where scenarios begin; a time of zero means "not stated".
const epoch = telemetry.Time(1_000_000e9)

func parseScenario(text string) (*scenario, error) {
	s := &scenario{}
	now, delay := 0.0, 0.0
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if f[0] == "skip" {
			s.skip = strings.Join(f[1:], " ")
			continue
		}
		if err := s.line(f, &now, &delay); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	s.end = now + delay
	return s, nil
}

func (s *scenario) line(f []string, now, delay *float64) error {
	add := func(a act) {
		a.at, a.delay, a.visible = *now, *delay, *now+*delay
		s.acts = append(s.acts, a)
	}
	switch f[0] {
	case "quiet", "delay":
		v, err := strconv.ParseFloat(f[1], 64)
		if f[0] == "quiet" {
			*now += v
		} else {
			*delay = v
		}
		return err
	case "event":
		add(act{event: telemetry.EventName(f[1])})
		return nil
	case "working", "idle", "resting", "corroborated", "alone", "threatened":
		add(act{mood: f[0]})
		return nil
	}
	lengths, each, times, err := parseSteps(f)
	if err != nil {
		return err
	}
	for range times {
		for _, x := range lengths {
			if x > 0 && !math.IsInf(x, 1) {
				*now += x * each
			} else {
				*now++
			}
			add(act{length: x})
		}
	}
	return nil
}

// parseSteps reads "3.3 5.1 x10" and "report 3.3 of 10 x5".
func parseSteps(f []string) (lengths []float64, each float64, times int, err error) {
	each, times = 1, 1
	if f[0] == "report" {
		if len(f) < 4 || f[2] != "of" {
			return nil, 0, 0, fmt.Errorf("%v: want report LENGTH of COUNT", f)
		}
		if each, err = strconv.ParseFloat(f[3], 64); err != nil {
			return nil, 0, 0, err
		}
		f = append([]string{f[1]}, f[4:]...)
	}
	for _, w := range f {
		if n, ok := strings.CutPrefix(w, "x"); ok {
			if times, err = strconv.Atoi(n); err != nil {
				return nil, 0, 0, err
			}
			continue
		}
		x, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil, 0, 0, err
		}
		lengths = append(lengths, x)
	}
	return lengths, each, times, nil
}

// stage is how a scenario is played. The zero stage is one grid to the second.
type stage struct {
	stretch float64        // all times and lengths by this; 1 if zero
	shift   telemetry.Time // all times later by this
	restore bool           // write and restore the book between any two grids
}

// play returns the transcript. Times in it are the scenario's own.
func (st stage) play(t *testing.T, s *scenario) string {
	t.Helper()
	if st.stretch == 0 {
		st.stretch = 1
	}
	p := &player{stage: st, book: &jobs.Book{}}
	acts := s.acts
	for second := 1; float64(second) <= math.Ceil(s.end); second++ {
		if st.restore {
			p.book = restored(t, p.book)
		}
		for len(acts) > 0 && acts[0].visible <= float64(second) {
			p.perform(&acts[0], second)
			acts = acts[1:]
		}
		p.close(second)
	}
	p.finish()
	return p.out.String()
}

type player struct {
	stage
	book    *jobs.Book
	out     strings.Builder
	busy    bool
	threats []telemetry.Interval // since when something that it depends on is in trouble
	rests   bool                 // nothing is launched on its GPUs
	// corroborated is set where there is corroborating evidence.
	corroborated bool
	// refused and last are what was printed of them.
	refused uint64
}

func train() telemetry.Entity { return telemetry.Entity{Kind: telemetry.Job, Name: "train"} }

func (p *player) time(seconds float64) telemetry.Time {
	return epoch + p.shift + telemetry.Time(math.Round(seconds*p.stretch*1e9))
}

// seconds is an instant of the engine on the scenario's own clock.
func (p *player) seconds(t telemetry.Time) float64 {
	return float64(t-epoch-p.shift) / 1e9 / p.stretch
}

func (p *player) perform(a *act, second int) {
	switch {
	case a.mood != "":
		p.mood(a.mood, a.at)
	case a.event != "":
		p.report(second, p.book.Event(&telemetry.Event{Entity: train(), At: p.time(a.at), Name: a.event}, p.time(float64(second))))
	default:
		p.book.Observe(train(), p.time(a.at), a.length*p.stretch, telemetry.Duration(a.delay*p.stretch*1e9))
		if p.book.Refused != p.refused {
			fmt.Fprintf(&p.out, "%4d s  refused %v\n", second, a.length)
			p.refused = p.book.Refused
		}
	}
}

func (p *player) mood(mood string, now float64) {
	switch mood {
	case "threatened":
		p.threats = append(p.threats, telemetry.Interval{Earliest: p.time(now), Latest: p.time(now)})
	case "working", "idle", "resting":
		p.busy, p.rests = mood == "working", mood == "resting"
	case "corroborated", "alone":
		p.corroborated = mood == "corroborated"
	}
}

// working is what the engine would see of the job's GPUs.
func (p *player) working(_ *jobs.Job, g telemetry.Time) (telemetry.Time, bool) {
	return g, p.busy
}

// close closes a grid, and does with a job that is well what the engine does.
func (p *player) close(second int) {
	p.report(second, p.book.Close(p.time(float64(second)), jobs.Senses{
		Working:      p.working,
		Threatened:   func(*jobs.Job) []telemetry.Interval { return p.threats },
		Idle:         func(*jobs.Job, telemetry.Time) bool { return p.rests },
		Corroborates: func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool { return p.corroborated },
	}))
	for _, j := range p.book.Jobs() {
		if j.Degradation != nil && j.Degradation.Well() {
			j.Forget(false, 0)
		}
	}
}

func (p *player) report(second int, changed []jobs.Changed) {
	for _, c := range changed {
		fmt.Fprintf(&p.out, "%4d s  %s", second, p.change(c))
	}
}

func (p *player) change(c jobs.Changed) string {
	h := c.Job.Degradation
	switch c.Change {
	case jobs.Began:
		return fmt.Sprintf("began %v, onset %.1f to %.1f, before %.2f, expected %.2f, now %s\n", h.State,
			p.seconds(h.Onset.Earliest), p.seconds(h.Onset.Latest), h.Before/p.stretch, h.Expected/p.stretch, p.now(h))
	case jobs.Turned:
		return fmt.Sprintf("turned %v, now %s, lost %.1f\n", h.State, p.now(h), h.Lost/p.stretch)
	case jobs.Ended:
		return fmt.Sprintf("ended %v, last slow %.1f, now %s, lost %.1f\n", h.State, p.seconds(h.LastSlow), p.now(h), h.Lost/p.stretch)
	}
	return "nothing changed, and said so\n"
}

func (p *player) now(h *jobs.Degradation) string {
	now, ok := h.Now()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", now/p.stretch)
}

func (p *player) finish() {
	j := p.book.Job(train())
	if j == nil {
		p.out.WriteString("no job\n")
		return
	}
	state := jobs.Healthy
	if j.Degradation != nil {
		state = j.Degradation.State
	}
	usual, known := j.Usual()
	fmt.Fprintf(&p.out, "at the end %v after %d steps", state, j.Steps)
	if known {
		fmt.Fprintf(&p.out, ", usual %.2f", usual/p.stretch)
	}
	p.out.WriteString("\n")
}

// scenarios reads testdata/steps: name, story and the expected result.
func scenarios(t *testing.T) []file {
	t.Helper()
	names, err := filepath.Glob("testdata/steps/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var out []file
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		story, want, _ := strings.Cut(string(b), "-want-\n")
		s, err := parseScenario(story)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, file{name, story, want, s})
	}
	return out
}

type file struct {
	name, story, want string
	scenario          *scenario
}
