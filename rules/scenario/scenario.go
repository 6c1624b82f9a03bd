package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of one scenario: what a hostile file can cost.
const (
	MaxLength  = 24 * time.Hour // how long it lasts
	MaxSeries  = 50_000         // series it states
	MaxSamples = 20_000_000     // samples it states
	maxLines   = 100_000        // lines after expansion, of each section
	maxErrors  = 20             // after which a parser gives up
)

// Scenario is a parsed story. Use Parse.
type Scenario struct {
	Name    string // as given to Parse: the file's name
	Comment string // what comes before the first section
	Site    telemetry.SiteConfig
	Start   telemetry.Time // of the story; times in the file count from here
	Length  telemetry.Duration
	Fault   telemetry.Duration // when the trouble begins: from here a want's within counts
	Seed    uint64             // of all jitter
	Edges   []telemetry.Edge
	Events  []telemetry.Event
	Wants   []Want
	// Former lists the lines with keys of earlier releases, and their present names.
	Former []Error

	loads  []*load
	steps  []*load
	clocks map[telemetry.Entity]*load // the steps by which others come
	// OthersAllowed states that incidents which no want describes are no
	// mismatch.
	OthersAllowed bool

	streams []*stream // what becomes of loads and steps
}

// load is one series: a line after expansion.
type load struct {
	line   int
	series telemetry.Series
	metric *telemetry.Metric // nil if undeclared
	every  telemetry.Duration
	from   telemetry.Duration
	late   telemetry.Duration
	source string
	class  telemetry.LatenessClass
	bits   int              // the width at which it wraps, 0 if it does not
	clock  telemetry.Entity // of a step metric: whose steps it belongs to
	terms  []term
	count  int // how many instants of its stream the story has
}

// Error is something wrong with a line.
type Error struct {
	File string
	Line int
	Text string
}

// Error returns "file:line: text".
func (e Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// Errors are all that is wrong with a file, by line. It is an error.
type Errors []Error

// Error returns one error a line.
func (es Errors) Error() string {
	var b strings.Builder
	for i, e := range es {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// parser collects the scenario and what is wrong with it.
type parser struct {
	s      *Scenario
	errs   Errors
	seen   map[telemetry.Series]*load
	cat    *telemetry.Catalogue
	length bool // stated
}

func (p *parser) fail(line int, format string, args ...any) {
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, Error{p.s.Name, line, fmt.Sprintf(format, args...)})
	}
}

// Parse reads a scenario; name is used in errors. The error is an Errors.
func Parse(name string, b []byte) (*Scenario, error) {
	return ParseWith(telemetry.DefaultCatalogue(), name, b)
}

// ParseWith is Parse with a catalogue that has more metrics than the program declares.
func ParseWith(c *telemetry.Catalogue, name string, b []byte) (*Scenario, error) {
	site := telemetry.DefaultSiteConfig()
	p := &parser{
		s:    &Scenario{Name: name, Site: site, Start: telemetry.Time(1767225600e9)}, // 2026-01-01T00:00:00Z
		seen: map[telemetry.Series]*load{},
		cat:  c,
	}
	sections := p.split(string(b))
	wanted := false
	for _, sec := range sections {
		wanted = wanted || sec.name == "want"
		p.section(sec)
	}
	if !wanted || len(p.s.Wants) == 0 && len(p.errs) == 0 {
		p.fail(strings.Count(string(b), "\n")+1, "nothing is wanted: end with a section \"-- want --\"")
	}
	if len(p.errs) == 0 {
		p.finish()
	}
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return p.s, nil
}

// section is the lines under one "-- name --".
type section struct {
	name  string
	line  int // of its first line
	lines []string
}

// split cuts a file at its section marks.
func (p *parser) split(text string) (out []section) {
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		name, marked := strings.CutPrefix(line, "-- ")
		name, closed := strings.CutSuffix(strings.TrimRight(name, " \t"), " --")
		switch {
		case marked && closed:
			out = append(out, section{name: strings.TrimSpace(name), line: i + 2})
		case len(out) == 0:
			p.s.Comment += line + "\n"
		default:
			out[len(out)-1].lines = append(out[len(out)-1].lines, line)
		}
	}
	p.s.Comment = strings.TrimSpace(p.s.Comment)
	return out
}

// section reads the lines of one section, expanded.
func (p *parser) section(sec section) {
	var read func(line int, words []string)
	switch sec.name {
	case "site":
		read = p.setting
	case "edges":
		read = p.edge
	case "load":
		read = p.load
	case "steps":
		read = p.step
	case "events":
		read = p.event
	case "want":
		read = p.want
	default:
		p.fail(sec.line-1, "unknown section %q; want site, edges, load, steps, events or want", sec.name)
		return
	}
	total := 0
	for i, text := range sec.lines {
		lines, err := expand(uncomment(text), maxLines-total)
		if err != nil {
			p.fail(sec.line+i, "%v", err)
			continue
		}
		total += len(lines)
		for _, l := range lines {
			if words := strings.Fields(l); len(words) > 0 && len(p.errs) < maxErrors {
				read(sec.line+i, words)
			}
		}
	}
}

// uncomment drops what follows a '#' that begins a word.
func uncomment(line string) string {
	for i := 0; i < len(line); i++ {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

// setting reads a line of the site section.
func (p *parser) setting(line int, w []string) {
	if len(w) != 2 && !(w[0] == "lateness" && len(w) == 1+int(telemetry.LatenessClasses)) {
		p.fail(line, "%s: want one value (lateness: %d)", w[0], telemetry.LatenessClasses)
		return
	}
	var err error
	switch w[0] {
	case "name":
		p.s.Site.Site = w[1]
	case "grid":
		p.s.Site.Grid, err = clock(w[1])
	case "lateness":
		for i, l := range w[1:] {
			if d, e := clock(l); e != nil {
				err = e
			} else {
				p.s.Site.Lateness[i] = d
			}
		}
	case "seed":
		p.s.Seed, err = strconv.ParseUint(w[1], 10, 64)
	case "for":
		p.s.Length, err = clock(w[1])
		p.length = true
	case "fault":
		p.s.Fault, err = clock(w[1])
	case "start":
		err = p.s.Start.UnmarshalText([]byte(w[1]))
	default:
		p.fail(line, "unknown setting %q; want name, grid, lateness, seed, for, fault or start", w[0])
	}
	if err != nil {
		p.fail(line, "%s: %v", w[0], err)
	}
}

// edge reads "FROM RELATION TO [from=T] [until=T] [source=NAME] [KEY=VALUE]…".
func (p *parser) edge(line int, w []string) {
	if len(w) < 3 {
		p.fail(line, "an edge: want FROM RELATION TO")
		return
	}
	e := telemetry.Edge{Source: "file"}
	var errs [3]error
	e.From, errs[0] = telemetry.ParseEntity(w[0])
	e.Relation, errs[1] = telemetry.ParseRelation(w[1])
	e.To, errs[2] = telemetry.ParseEntity(w[2])
	for _, err := range errs {
		if err != nil {
			p.fail(line, "%v", err)
			return
		}
	}
	for _, o := range w[3:] {
		k, v, ok := strings.Cut(o, "=")
		switch {
		case !ok || k == "":
			p.fail(line, "%q: want KEY=VALUE", o)
		case k == "from" || k == "until":
			d, err := clock(v)
			if err != nil {
				p.fail(line, "%s: %v", k, err)
			} else if k == "from" {
				e.Start = telemetry.Time(d)
			} else {
				e.End = telemetry.Time(d)
			}
		case k == "source":
			e.Source = v
		default:
			e.Attrs = append(e.Attrs, telemetry.Attr{Key: k, Value: v})
		}
	}
	slices.SortStableFunc(e.Attrs, func(a, b telemetry.Attr) int { return strings.Compare(a.Key, b.Key) })
	p.s.Edges = append(p.s.Edges, e)
}

// event reads "TIME NAME ENTITY [TEXT…]".
func (p *parser) event(line int, w []string) {
	if len(w) < 3 {
		p.fail(line, "an event: want TIME NAME ENTITY [TEXT]")
		return
	}
	at, err := clock(w[0])
	if err != nil {
		p.fail(line, "%v", err)
		return
	}
	entity, err := telemetry.ParseEntity(w[2])
	if err != nil {
		p.fail(line, "%v", err)
		return
	}
	p.s.Events = append(p.s.Events, telemetry.Event{
		Entity: entity, At: telemetry.Time(at), Name: telemetry.EventName(w[1]), Text: strings.Join(w[3:], " "),
		Source: telemetry.Source{Collector: "scenario", Target: entity.Name, Part: "events"},
	})
}

// clock reads a time from the start: "90s", "1m30s", "250ms" or "01:30".
func clock(s string) (telemetry.Duration, error) {
	d, err := time.ParseDuration(s)
	if m, sec, ok := strings.Cut(s, ":"); ok {
		minutes, err1 := strconv.ParseUint(m, 10, 16)
		seconds, err2 := strconv.ParseUint(sec, 10, 16)
		if err1 != nil || err2 != nil || seconds > 59 {
			return 0, fmt.Errorf("time %.40q: want 90s, 1m30s or 01:30", s)
		}
		d, err = time.Duration(minutes)*time.Minute+time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < 0 || d > MaxLength {
		return 0, fmt.Errorf("time %.40q: want 90s, 1m30s or 01:30, up to %v", s, MaxLength)
	}
	return d, nil
}
