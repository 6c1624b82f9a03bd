package gnmi

import "time"

// pace is how patient a collector is. Tests have a faster one.
type pace struct {
	first    time.Duration // before the second session
	brief    time.Duration // at most after a session that had received all initial data
	most     time.Duration // at most after any other
	refused  time.Duration // after a target refused us, doubled up to
	never    time.Duration
	stable   time.Duration // a session that lasted so long resets the back-off
	answers  time.Duration // what a dialled target may take for its first word
	quiet    time.Duration // a target that samples and sends no data for so long is dialled again
	restate  time.Duration // how often what does not change is stated again
	together time.Duration // the readings of one sample come within this
	sweep    time.Duration // how often the health of reading is reported
	bytes    int           // that a target may send in this time; of what is more a message is dropped, the rest waits
	counts   time.Duration
}

func usualPace() pace {
	return pace{first: time.Second, brief: 5 * time.Second, most: 30 * time.Second, refused: time.Minute, never: 10 * time.Minute,
		stable: time.Minute, answers: 15 * time.Second, quiet: 30 * time.Second, restate: 10 * time.Second,
		together: 200 * time.Millisecond, sweep: time.Second, bytes: 32 << 20, counts: time.Second}
}
