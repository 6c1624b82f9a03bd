package logs

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"
)

// offBy is how far the kernel's clock may be from ours in a record that was written
// just now, before the wall clock at boot is taken again: a second or two of
// reading late are no fault of it.
const offBy = 2 * time.Second

// kernelLog is one host's kernel messages: their numbers and their clock.
type kernelLog struct {
	boot       time.Time // wall clock at boot; zero unknown
	numbers    bool      // seq is of a record
	seq        uint64
	since      time.Duration
	unfinished line // a line that goes on
	fresh      bool // of unfinished
	holding    bool
}

// next takes a record's number. It returns how many were lost before it, and
// whether the record was reported before.
func (k *kernelLog) next(l *line) (lost uint64, old bool) {
	switch {
	case !k.numbers:
	case l.seq > k.seq:
		lost = l.seq - k.seq - 1
	case l.since < k.since: // the host has booted
		k.boot = time.Time{}
	default:
		return 0, true
	}
	k.numbers, k.seq, k.since = true, l.seq, l.since
	return lost, false
}

// date gives a record its wall-clock time; zero where that is not known.
func (k *kernelLog) date(l *line, now time.Time, fresh bool) {
	if fresh {
		if late := now.Sub(k.boot.Add(l.since)); k.boot.IsZero() || late > offBy || late < -offBy/10 {
			k.boot = now.Add(-l.since)
		}
	}
	if !k.boot.IsZero() {
		l.at = k.boot.Add(l.since)
	}
}

// join joins lines that were written in parts. It returns the line that is
// complete, if one is.
func (k *kernelLog) join(l line, fresh bool) (out line, wasFresh, ok bool) {
	if l.rest && k.holding {
		k.unfinished.text = clip(k.unfinished.text+l.text, maxLine)
		return line{}, false, false
	}
	out, wasFresh, ok = k.flush()
	if l.part {
		k.unfinished, k.fresh, k.holding = l, fresh, true
		return out, wasFresh, ok
	}
	if ok { // two lines at once: the parts' comes first, this one follows
		k.unfinished, k.fresh, k.holding = l, fresh, true
		return out, wasFresh, true
	}
	return l, fresh, true
}

// flush gives the line that waits for more.
func (k *kernelLog) flush() (line, bool, bool) {
	out, fresh, ok := k.unfinished, k.fresh, k.holding
	k.unfinished, k.holding = line{}, false
	return out, fresh, ok
}

// bootTime is when this host booted, by its wall clock as it goes now.
func bootTime(now time.Time) time.Time {
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}
	}
	word, _, _ := strings.Cut(string(b), " ")
	up, err := strconv.ParseFloat(word, 64)
	if err != nil || up < 0 || up > 1e10 {
		return time.Time{}
	}
	return now.Add(-time.Duration(up * 1e9))
}

// bootID identifies this boot; "" unknown.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// maxRecords bounds how many records are read in one go.
const maxRecords = 4096

// drain reads the records that the device has.
func (d *device) drain(each func(raw []byte) bool, overrun func()) (ended bool, err error) {
	var b [2 * maxLine]byte // the kernel refuses to give a record to less than it needs
	for range maxRecords {
		n, err := d.read(b[:])
		switch {
		case errors.Is(err, errOverrun):
			overrun()
			continue
		case err != nil:
			return false, err
		case n == 0:
			return true, nil
		}
		if !each(b[:n]) {
			return false, nil
		}
	}
	return false, nil
}
