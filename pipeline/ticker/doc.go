// Package ticker states the ticks that move a site's time.
//
// It owns when the next tick is due: by the monotonic clock, slewed gently,
// never far ahead of what the log has heard. Several tickers side by side state
// the same ticks.
//
// # The clock
//
// Ticks follow a clock that is set to the wall once and then runs on the
// monotonic clock. It is slewed towards the wall by half a millisecond a second
// while the two differ by no more than a second. Where they differ by more,
// something stepped: the wall was set, or the machine slept. Then the log
// decides: of the two, the one that is nearer to the median receive time is
// right. If that is the wall, the clock is set to it; if not, the clock runs on
// and the wall is not believed. If nobody is heard, the wall is believed.
//
// A clock that was set never makes ticks jump. Set forward, by an hour say, ticks
// catch up, at most ten for the time of one; set back, they hold still until the
// clock has passed the last of them.
//
// # The log
//
// A tick is stated when it is no more than one lateness (that of Prompt) ahead
// of the median receive time in the log: the newest of every collecting process,
// and of those the median, the lower one of two. A frame's authoritative time
// stands for its receipt; that of a slower class counts as later by what its
// lateness is longer, because so late it may come.
//
// A process that was not heard for Patience leaves the median, and so does one
// that is further behind the ticks than that while others are not. If none is
// left, ticks run with the clock: a silence that freezes the judgement would
// hide what caused it. Time in which we could not hear (the log was away, this
// process stood still) is nobody's silence. See docs/decisions/0014.
package ticker
