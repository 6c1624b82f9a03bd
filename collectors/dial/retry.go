package dial

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads the value of a Retry-After header (RFC 9110, 10.2.3), seconds or a
// date, and returns how long after now to try again: 0 for a date in the past. It
// returns false for any other value. The server may ask for decades: callers bound
// what they wait.
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if n, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(n, math.MaxInt32)) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
