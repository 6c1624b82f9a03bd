package telemetry

import (
	"fmt"
	"time"
)

// Time is an instant in nanoseconds since the Unix epoch, UTC. It is
// comparable, has no zone and no monotonic part. The zero Time means "not
// stated" where a field allows that.
type Time int64

// Duration is a length of time in nanoseconds.
type Duration = time.Duration

// Add returns t+d.
func (t Time) Add(d Duration) Time { return t + Time(d) }

// Sub returns t-u.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Seconds returns the instant as seconds since the epoch, for display and
// tests; it rounds.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// String formats the instant as RFC 3339 with nanoseconds, in UTC.
func (t Time) String() string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }

// Clock formats the time of day to the second, for sentences.
func (t Time) Clock() string { return time.Unix(0, int64(t)).UTC().Format("15:04:05") }

// MarshalText implements encoding.TextMarshaler (RFC 3339 with nanoseconds).
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Time) UnmarshalText(b []byte) error {
	p, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("time %q: want RFC 3339", b)
	}
	*t = Time(p.UnixNano())
	return nil
}

// Interval is a span of time known by its two ends. An onset is an interval,
// because the moment itself is not observed: it is between the last good and the
// first bad sample.
type Interval struct {
	Earliest Time `json:"earliest"`
	Latest   Time `json:"latest"`
}

// Widen returns the interval with d of uncertainty added at both ends.
func (i Interval) Widen(d Duration) Interval {
	return Interval{Earliest: i.Earliest.Add(-d), Latest: i.Latest.Add(d)}
}

// CannotPrecede reports whether i certainly begins after j has begun: order is
// only held against a cause whose earliest onset is later than its effect's
// latest.
func (i Interval) CannotPrecede(j Interval) bool { return i.Earliest > j.Latest }
