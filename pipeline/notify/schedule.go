package notify

import "time"

// retries lists the delays after failed attempts: short while a receiver restarts,
// hourly and slower while a person must repair it. Together they last three days
// and twenty minutes; then the delivery is dead.
var retries = [...]time.Duration{
	5 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 160 * time.Minute,
	5 * time.Hour, 8 * time.Hour, 12 * time.Hour, 18 * time.Hour, 24 * time.Hour,
}

const (
	// spread is the jitter of a delay to either side, as a share: receivers that
	// fail under load are not all retried at once.
	spread = 0.2
	// longestWish bounds the wait that a receiver can request: a wrong header
	// silences it for an hour, not for good.
	longestWish = time.Hour
)

// delay returns how long to wait after the n-th failed attempt, from 1, and false
// if there are no more. A receiver's own wish counts before the schedule, but not
// below its first step. random is in [0, 1).
func delay(schedule []time.Duration, n int, wish time.Duration, random float64) (time.Duration, bool) {
	if n > len(schedule) {
		return 0, false
	}
	if wish > 0 {
		wish = min(max(wish, schedule[0]), longestWish)
		return wish + time.Duration(spread*random*float64(wish)), true // never before it asked
	}
	d := schedule[n-1]
	return d + time.Duration(spread*(2*random-1)*float64(d)), true
}

// horizon is how long retries last: what has been pending for longer is dead.
func horizon(schedule []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range schedule {
		sum += d
	}
	return sum
}
