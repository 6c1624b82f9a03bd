package telemetry

import (
	"cmp"
	"fmt"
	"strings"
)

// MaxSeriesPerSource bounds how many series one source may have.
const MaxSeriesPerSource = 8192

// Source is who states a sample: a collector, the target it reads, and the
// part of it. It numbers its frames; counters live per (source, series).
type Source struct {
	Collector string // "sysfs", "gnmi", "import" …
	Target    string // the host, switch or file read
	Part      string // "ports", "gpus" …; may be empty
}

// String returns "collector|target|part"; the parts may contain '/' and ':'.
func (s Source) String() string { return s.Collector + "|" + s.Target + "|" + s.Part }

// ParseSource reads what String writes.
func ParseSource(t string) (Source, error) {
	p := strings.Split(t, "|")
	if len(p) != 3 || p[0] == "" {
		return Source{}, fmt.Errorf("source %.60q: want collector|target|part", t)
	}
	return Source{p[0], p[1], p[2]}, nil
}

// Compare orders sources by collector, target and part.
func (s Source) Compare(o Source) int {
	if c := cmp.Compare(s.Collector, o.Collector); c != 0 {
		return c
	}
	if c := cmp.Compare(s.Target, o.Target); c != 0 {
		return c
	}
	return cmp.Compare(s.Part, o.Part)
}

// LatenessClass describes how late a source's samples may arrive and still be
// judged. Each class has its own watermark.
type LatenessClass uint8

// The four classes; their lengths are configuration (Lateness).
const (
	Prompt  LatenessClass = iota // 2 s: switch and host counters, steps
	Delayed                      // 15 s: scrapes
	Slow                         // 60 s: management controllers
	Batch                        // 300 s: reports in batches
	LatenessClasses
)

// Lateness gives each class its length.
type Lateness [LatenessClasses]Duration

// DefaultLateness returns 2, 15, 60 and 300 s.
func DefaultLateness() Lateness {
	const s = Duration(1e9)
	return Lateness{2 * s, 15 * s, 60 * s, 300 * s}
}
