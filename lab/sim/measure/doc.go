// Package measure is what instruments make of a simulated site's true state:
// records, as collectors would put them into the log, with the imperfections of
// the field.
//
// It owns which source reads what, when and how well: cadences and phases,
// clocks that are off, samples that are lost or late, counters that reset, wrap
// and stick, watermarks that a reading clears, sensors that stick or change
// their unit, noise and rounding. Every error is drawn from the seed. It must
// never know a fault or a cause: it sees the state alone. Time moves by the
// caller's ticks, which are no business of it.
package measure
