// Package play states a recording again as if it happened now: its records in
// order, moved in time by a whole number of grids, at a chosen speed.
//
// It owns the moving of times and the pace, and it takes the ticker's part: the
// recording's own ticks, moved, are the ones that move time. Where the records
// go is its caller's. It must never leave a record out that it could give, give
// one in another order, or let an outage change a time.
//
// # What is moved
//
// Both clocks of a frame's instants, an event's two times, an edge's start, end
// and receipt, a config's receipt, a tick. A time of zero is not a time ("always",
// "not stated") and stays zero. Nothing else changes: a schema's fingerprint, a
// frame's sequence and every word are the recording's, and so is a frame's
// incarnation, except in a log that was played into before (State.Raise).
//
// # The order, and going on
//
// All records before a tick are stored before the tick is: Append has returned.
// So a log whose last tick is T holds everything up to T, and a player that is
// started again with the same State begins behind it. What a killed player had
// given beyond its last tick is given twice, which identity makes harmless.
package play
