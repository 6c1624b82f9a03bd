// Package ticker states the ticks that move a site's time.
//
// It owns when the next tick is due: by the monotonic clock, slewed gently, never
// far ahead of the data in the log. Several concurrent tickers state the same
// ticks.
//
// # The clock
//
// Ticks follow a clock that is set to the wall clock once and then runs on the
// monotonic clock. It is slewed towards the wall clock by half a millisecond a
// second while the two differ by no more than a second. If they differ by more,
// there was a step: the wall clock was set, or the machine slept. Then the log
// decides: of the two, the one that is nearer to the median receive time is right.
// If that is the wall clock, the clock is set to it; if not, the clock runs on and
// the wall clock is ignored. If no process sends data, the wall clock is trusted.
//
// A clock that was set never makes ticks jump to it. Set forward, ticks catch up, at
// most ten for the time of one; set back, they pause until the clock has passed the
// last of them. Ticks that are more than a quarter of an hour behind the clock (the
// site was off, the machine slept) are a minute apart and follow each other at once:
// the engine refuses frames that are further ahead of the ticks, so whatever is
// received until they are closer is lost. See docs/decisions/0095.
//
// # The log
//
// A tick is stated when it is no more than one lateness (that of Prompt) ahead of
// the median receive time in the log: the newest of every collecting process, and
// of those the median, the lower one of two. A frame's authoritative time is used
// as its receive time; that of a slower class counts as later by the difference of
// its lateness, because it may arrive that late.
//
// A process without data for Timeout leaves the median, and so does one that is
// further behind the ticks than that while others are not. If none is left, ticks
// run with the clock: a lack of data that freezes the judgement would hide its
// cause. Time in which the ticker could not receive (the log was unreachable, this
// process was paused) does not count as missing data of any process. See
// docs/decisions/0014.
package ticker
