package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress is one line on a terminal with the progress of long work. In a pipe it
// prints nothing. It is owned by one goroutine.
type progress struct {
	w     io.Writer // nil: not a terminal
	label string
	began time.Time
	next  time.Time // not before
	shown bool
}

const progressEvery = 100 * time.Millisecond

// newProgress returns a progress line on w.
func newProgress(w io.Writer, label string) *progress {
	p := &progress{label: label, began: time.Now()}
	if terminal(w) {
		p.w = w
		p.next = p.began.Add(3 * progressEvery) // short work needs no line
	}
	return p
}

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// at shows that a part in [0, 1] of the work is done, with a label.
func (p *progress) at(done float64, word string) {
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	const width = 24
	full := int(min(max(done, 0), 1) * width)
	left := ""
	if done > 0.02 {
		left = fmt.Sprintf("%v left", time.Duration(float64(now.Sub(p.began))*(1-done)/done).Round(time.Second))
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s %s%s %3.0f%% %s %s", p.label, strings.Repeat("█", full), strings.Repeat("░", width-full), 100*done, left, word)
}

// done takes the line away.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.shown = false
}
