package explain

import (
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// Whether a link is up is seen in three ways: by events, which are exact; by a counter
// of how often it went down, which misses nothing but does not show for how long; and by
// its state, which is sampled, so that it misses most of what lasts for seconds.

// leastDown is for how many seconds a link is down at the least that goes down: it has
// to be trained again (IEEE 802.3 clause 73; InfiniBand volume 2, link training).
const leastDown = 1.0

// linkState is the state of a link during the degradation: the part of the time for
// which it was up, whether it is down at last, and how often it went down.
type linkState struct {
	up    float64
	down  bool
	falls float64
}

// state is that of the link of end i, by the end that reports worse, where it was up
// before: a link that was down all along has not changed.
func (f *fabricMeasures) state(i int) (worst linkState, ok bool) {
	worst.up = 1
	for _, k := range f.linkEnds(i) {
		s, seen := f.stateBy(k)
		if !seen {
			continue
		}
		ok = true
		worst.up, worst.down, worst.falls = min(worst.up, s.up), worst.down || s.down, max(worst.falls, s.falls)
	}
	return worst, ok
}

// stateBy is the state of its link as end k reports it.
func (f *fabricMeasures) stateBy(k int) (s linkState, ok bool) {
	if s, ok = f.stateByEvents(k); ok {
		return s, true
	}
	up, at, ok := f.e.Fabric.Now.Up(k)
	usual, _, was := f.e.Fabric.Before.Up(k)
	if !was {
		usual = 1
	}
	s.up, s.down = 1, ok && !at && usual > 0.5
	if ok {
		s.up = 1 - max(0, usual-up)
	}
	if s.down {
		s.falls = 1
	}
	if falls, counted := f.beyond(k, fabric.Falls); counted {
		seconds := float64(f.e.To-f.e.Fabric.Now.Span.From) / 1e9
		n := float64(falls * seconds)
		if ok = true; n >= 0.5 {
			s.falls, s.up = max(s.falls, n), max(0, 1-(float64(n*leastDown)+f.e.Fabric.Now.Down(k))/seconds)
		}
	}
	return s, ok
}

// stateByEvents is the same by the events that end k reported; false where it reported
// none, which is no proof that there were none.
func (f *fabricMeasures) stateByEvents(k int) (s linkState, ok bool) {
	from, to := f.e.Fabric.Now.Span.From, f.e.Fabric.Now.Span.To
	off, since := telemetry.Duration(0), from
	for _, ev := range f.e.Fabric.Events[f.m.Ends[k].Port] {
		switch {
		case ev.Name == telemetry.EventLinkDown && !s.down:
			s.falls, s.down, since = s.falls+1, true, max(from, ev.At)
		case ev.Name == telemetry.EventLinkUp && s.down:
			s.down, off = false, off+max(0, min(ev.At, to).Sub(since))
		}
	}
	if s.falls == 0 {
		return s, false
	}
	if s.down {
		off += max(0, to.Sub(since))
	}
	s.up = 1 - float64(off)/float64(to.Sub(from))
	return s, true
}
