package ticker

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

const (
	second = telemetry.Duration(1e9)

	// slewPart is how much of the time that passes goes into slewing: half a
	// millisecond a second, what operating systems slew by.
	slewPart = 2000
	// stepAfter is a difference that slewing cannot have left over.
	stepAfter = second
	// catchUp is how many grids of ticks may be stated in the time of one.
	catchUp = 10
	// taken is how far ahead of the ticks the engine takes frames (ahead in
	// correlate/engine.go). Ticks that are further behind the clock are not slowed
	// down: all that is received meanwhile would be refused.
	taken = 15 * 60 * second
	// stride is how far one of those ticks moves time: the engine closes its grids
	// one by one all the same, and a snapshot is due once in it.
	stride = 60 * second
	// pollPart is how often a delayed tick is looked at, in a grid.
	pollPart = 20
	// deafAfter is a gap between two polls in which nothing was received because
	// this process did not read.
	deafAfter = 5 * second
	// sane is how far ahead of every clock a tick may be and still be meant: the
	// engine refuses a longer jump.
	sane = 24 * 3600 * second
	// maxProcesses bounds the memory for collecting processes.
	maxProcesses = 1 << 16
	// maxSlow bounds the schemas remembered to be of a slower class.
	maxSlow = 1 << 16
)

// moment is now, by both clocks.
type moment struct {
	mono telemetry.Duration // since the ticker's start
	wall telemetry.Time
}

// why is what the next tick waits for.
type why uint8

const (
	due      why = iota
	forClock     // its time has not come
	forRate      // the one before it was just stated
	forLog       // the log has not received data that far
	forTail      // the end of the log is not read yet
)

// reception is the data received from one process in one lateness class.
type reception struct {
	ever   bool
	mono   telemetry.Duration // when, the last time
	newest telemetry.Time     // receive time, clamped to now
}

// pace decides when the next tick is due. It is a state machine without a clock:
// every method is passed the moment, which never goes back in mono.
type pace struct {
	grid     telemetry.Duration
	lateness telemetry.Lateness
	timeout  telemetry.Duration

	now   moment
	clock telemetry.Time // what the time is, at now

	last   telemetry.Time     // the newest tick, ours or another's
	stated telemetry.Duration // when that was
	opened telemetry.Duration // when the log first answered
	ready  bool               // what it had then was read

	processes map[string]*[telemetry.LatenessClasses]reception
	slow      map[telemetry.Fingerprint]telemetry.LatenessClass // schemas that are not Prompt
	scratch   []telemetry.Time

	steps, disbelieved, ignored uint64 // of the wall clock; of ticks
}

func newPace(cfg Config, now moment) *pace {
	return &pace{grid: cfg.Grid, lateness: cfg.Lateness, timeout: cfg.Timeout, now: now, clock: now.wall,
		processes: map[string]*[telemetry.LatenessClasses]reception{}, slow: map[telemetry.Fingerprint]telemetry.LatenessClass{}}
}

func floor(t telemetry.Time, grid telemetry.Duration) telemetry.Time {
	r := t % telemetry.Time(grid)
	if r < 0 {
		r += telemetry.Time(grid)
	}
	return t - r
}

// open records that the log answers.
func (p *pace) open(now moment) {
	p.advance(now)
	p.opened, p.stated = now.mono, now.mono-p.grid
	p.last = floor(p.clock, p.grid)
}

// resume takes the log's last tick, from before our start.
func (p *pace) resume(at telemetry.Time) {
	if at > p.future() {
		p.ignored++
		return
	}
	p.last = floor(at, p.grid)
}

// adopt takes a tick seen in the log.
func (p *pace) adopt(at telemetry.Time, now moment) (newer bool) {
	if at > p.future() {
		p.ignored++
		return false
	}
	if at <= p.last {
		return false
	}
	p.last, p.stated = floor(at, p.grid), now.mono
	return true
}

func (p *pace) future() telemetry.Time { return max(p.clock, p.now.wall).Add(sane) }

// schema records a schema: its class gives how late its frames arrive.
func (p *pace) schema(fp telemetry.Fingerprint, class telemetry.LatenessClass) {
	if class == telemetry.Prompt || class >= telemetry.LatenessClasses {
		delete(p.slow, fp)
	} else if len(p.slow) < maxSlow {
		p.slow[fp] = class
	}
}

// receive processes a frame of a process.
func (p *pace) receive(process string, h telemetry.FrameHeader, now moment) {
	classes := p.processes[process]
	if classes == nil {
		if len(p.processes) >= maxProcesses {
			return
		}
		classes = &[telemetry.LatenessClasses]reception{}
		p.processes[process] = classes
	}
	class := p.slow[h.Fingerprint] // Prompt where it is not known
	at := h.Last.Add(p.lateness[class] - p.lateness[telemetry.Prompt])
	at = min(at, max(p.clock.Add(now.mono-p.now.mono), now.wall)) // nobody receives in the future
	c := &classes[class]
	if !c.ever || at > c.newest {
		c.newest = at
	}
	c.ever, c.mono = true, now.mono
}

// next returns which tick is due now, or how long to wait and what for.
func (p *pace) next(now moment) (at telemetry.Time, wait telemetry.Duration, what why) {
	p.advance(now)
	at, hurried := p.following()
	poll := max(p.grid/pollPart, 1e6)
	if !p.ready && now.mono-p.opened < p.timeout {
		return at, poll, forTail
	}
	if d := at.Sub(p.clock); d > 0 {
		return at, min(d, second), forClock
	}
	if d := p.stated + p.grid/catchUp - now.mono; d > 0 && !hurried {
		return at, d, forRate
	}
	if median, n := p.median(); n > 0 && at > median.Add(p.lateness[telemetry.Prompt]) {
		return at, poll, forLog
	}
	return at, 0, due
}

// following returns the tick after the last one, and whether it is so far behind
// the clock that it is not slowed down. Then it is the last grid of its minute or
// the first of the next, the same to every ticker.
func (p *pace) following() (at telemetry.Time, hurried bool) {
	at = p.last.Add(p.grid)
	if p.clock.Sub(at) <= taken {
		return at, false
	}
	return max(at, floor(floor(at, stride).Add(stride), p.grid)), true
}

// published records that a tick of this ticker is in the log.
func (p *pace) published(at telemetry.Time, now moment) {
	if at > p.last {
		p.last, p.stated = at, now.mono
	}
}

// advance moves the clock to now.
func (p *pace) advance(now moment) {
	passed := now.mono - p.now.mono
	p.clock = p.clock.Add(passed)
	p.now = now
	if passed > deafAfter {
		p.deaf(passed)
	}
	off := now.wall.Sub(p.clock)
	if off <= stepAfter && off >= -stepAfter {
		p.clock = p.clock.Add(max(-passed/slewPart, min(passed/slewPart, off)))
		return
	}
	if median, n := p.median(); n > 0 && distance(p.clock, median) < distance(now.wall, median) {
		p.disbelieved++
		return
	}
	p.steps++
	p.clock = now.wall
}

func distance(a, b telemetry.Time) telemetry.Duration { return max(a.Sub(b), b.Sub(a)) }

// deaf excludes, for all processes, the time in which this process did not read.
func (p *pace) deaf(passed telemetry.Duration) {
	for _, classes := range p.processes {
		for c := range classes {
			classes[c].mono = min(classes[c].mono+passed, p.now.mono)
		}
	}
}

// median returns the median receive time and over how many processes.
func (p *pace) median() (telemetry.Time, int) {
	near := p.last.Add(-p.timeout)
	all := p.scratch[:0]
	for name, classes := range p.processes {
		t, ok := p.receivedUntil(classes)
		if !ok {
			delete(p.processes, name)
			continue
		}
		all = append(all, t)
	}
	p.scratch = all
	slices.Sort(all)
	if i, _ := slices.BinarySearch(all, near); i < len(all) {
		all = all[i:] // a source further behind than Timeout delays no tick, unless all are
	}
	if len(all) == 0 {
		return 0, 0
	}
	return all[(len(all)-1)/2], len(all)
}

// receivedUntil returns a process's newest receive time, from the promptest class that was
// received within Timeout.
func (p *pace) receivedUntil(classes *[telemetry.LatenessClasses]reception) (telemetry.Time, bool) {
	for _, c := range classes {
		if c.ever && p.now.mono-c.mono <= p.timeout {
			return c.newest, true
		}
	}
	return 0, false
}
