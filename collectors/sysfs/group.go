package sysfs

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

// How long what cannot be read is left alone.
const (
	restDenied = time.Minute
	restGone   = 10 * time.Second
)

// file is a counter's file, or a number that is read like one.
type file struct {
	name     string
	open     openFile // nil until it was opened, and after it failed
	cells    []cell
	narrow   bool          // 32 bits that stay at their end
	lifespan bool          // its number is that of its group
	rests    time.Duration // on the reader's clock: not asked before
}

func (f *file) close() {
	if f.open != nil {
		f.open.close()
		f.open = nil
	}
}

// group is what one thing answers together: the files of one folder, a port's
// state, an interface's statistics.
type group struct {
	files  []*file
	status *status
	stats  *statisticsOf
	pace   pace
}

func (g *group) close() {
	for _, f := range g.files {
		f.close()
	}
	if g.status != nil {
		g.status.close()
	}
}

// size is how many items a group requests.
func (g *group) size() int {
	switch {
	case g.status != nil:
		return statusFiles
	case g.stats != nil:
		return g.stats.bound
	}
	return len(g.files)
}

// markNarrow marks the counters that have 32 bits, where missing files show that.
func (g *group) markNarrow(files []string) {
	if slices.Contains(files, "unicast_rcv_packets") {
		return
	}
	for _, f := range g.files {
		f.narrow = slices.Contains(strings.Fields(narrowFiles), path.Base(f.name))
	}
}

// narrowEnd is where a narrow counter stays.
const narrowEnd = 1<<32 - 1

// read reads every file of the group into its cells.
func (g *group) read(r *reader) {
	for _, f := range g.files {
		if f.rests > r.now {
			continue
		}
		v, why := r.count(f)
		if why == good && f.narrow && v == narrowEnd {
			why = collectors.Saturated
		}
		if why != good {
			f.fail(r, g, why)
			continue
		}
		if f.lifespan {
			g.pace.least = time.Duration(min(v, uint64(longestRest/time.Millisecond))) * time.Millisecond
		}
		r.put(f.cells, v)
	}
}

// count reads one number. It does not allocate.
func (r *reader) count(f *file) (uint64, collectors.Reason) {
	if f.open == nil {
		h, err := r.tree.open(f.name)
		if err != nil {
			return 0, reasonOf(err)
		}
		f.open = h
	}
	n, err := f.open.read(r.buf[:])
	switch {
	case err != nil:
		return 0, reasonOf(err)
	case n == len(r.buf):
		return 0, collectors.Malformed // no number is that long
	}
	return count(r.buf[:n])
}

// fail counts why a file gave no number, and backs off where retrying at once would
// only load the device.
func (f *file) fail(r *reader, g *group, why collectors.Reason) {
	r.dropped[why]++
	for i := range f.cells {
		f.cells[i].gap()
	}
	switch why {
	case collectors.Unsupported, collectors.Denied:
		f.rests = r.now + restDenied
	case collectors.Vanished:
		if f.open == nil {
			f.rests = r.now + restGone
		}
		f.close() // a device may have come back under its name
		r.look = true
	case collectors.OverLimit:
		f.rests = r.now + restGone
	case collectors.Unreadable:
		f.close() // a new descriptor may do
	}
}

// Pace: reading takes at most a twentieth of the time.
const (
	restFactor  = 20
	longestRest = 30 * time.Second
)

// pace decides when a group is read again.
type pace struct {
	least time.Duration // between readings, as the device states (lifespan)
	took  time.Duration // of the last readings, smoothed: one hiccup is no slowness
	next  time.Duration // on the reader's clock
}

// due reports whether the group may be read now.
func (p *pace) due(now time.Duration) bool { return now >= p.next }

// done takes note of a reading that began at now and took so long. A sweep
// comes a little early or late: slack lets it pass.
func (p *pace) done(now, took, slack time.Duration) {
	p.took += (took - p.took) / 4
	p.next = now + max(p.least, min(restFactor*p.took, longestRest)) - slack
}
