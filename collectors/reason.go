package collectors

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quintet-dc/quintet/telemetry"
)

// Reason is why something that was there was not emitted. The reasons are a closed
// list, because each is a metric of its own; all others are counted as Other.
type Reason string

// The reasons.
const (
	Denied      Reason = "denied"       // no permission to read it
	Duplicate   Reason = "duplicate"    // the same number, emitted from another place
	Malformed   Reason = "malformed"    // not what this source can mean
	OutOfRange  Reason = "out_of_range" // a number that its type cannot hold
	OverLimit   Reason = "over_limit"   // more than this collector keeps
	Refused     Reason = "refused"      // not allowed by configuration
	Saturated   Reason = "saturated"    // a counter at its maximum, which counts no further
	Skipped     Reason = "skipped"      // left out on purpose, to spare a slow device
	Stale       Reason = "stale"        // too old, or older than what was emitted
	Unknown     Reason = "unknown"      // its meaning or its owner is not known
	Unreadable  Reason = "unreadable"   // reading failed, for a reason not listed here
	Unsupported Reason = "unsupported"  // the device reports that it does not have it
	Vanished    Reason = "vanished"     // it was there, and is gone
	Other       Reason = "other"        // none of these
)

// Reasons lists every reason, by name.
func Reasons() []Reason {
	return []Reason{Denied, Duplicate, Malformed, Other, OutOfRange, OverLimit, Refused, Saturated, Skipped, Stale, Unknown,
		Unreadable, Unsupported, Vanished}
}

// Metric returns the name of the counter of what was dropped for this reason.
func (r Reason) Metric() telemetry.MetricName {
	return telemetry.MetricName("collector_dropped_" + string(r) + "_total")
}

// Entity returns the entity of a collector in a process: its health is stated of
// it, and so is what cannot be attributed to any other entity.
func Entity(process, name string) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Collector, Name: Part(process) + "/" + Part(name)}
}

// Part returns s as one part of an entity's name: a '/' is written %2F, and a
// character that is not allowed in a name becomes '_'. An empty part is "_".
func Part(s string) string {
	if s == "" {
		return "_"
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '/':
			b.WriteString("%2F")
		case !printable(r):
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printable reports whether r is allowed in an entity's name; invalid UTF-8 is
// utf8.RuneError here.
func printable(r rune) bool {
	return r != utf8.RuneError && !unicode.IsSpace(r) && !unicode.IsControl(r)
}
