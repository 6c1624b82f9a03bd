// Package thin reduces the records of an outage, so that the important part of them
// still fits: the increase of every counter, the extremes of every gauge.
//
// It owns what survives of a sample's series and what is dropped first, and it
// counts everything that does not survive. It is pure: it reads no clock and
// does no I/O, and the same tape gives the same answer.
//
// # What survives
//
// Frames of one schema, one incarnation and one interval of time become one frame.
// Of every series in it remain
//
//   - a counter's last value, and both sides of its last two falls, because the
//     increase before a reset would be lost;
//   - a gauge's lowest, highest and last value; of equals the earliest;
//   - a state's last six changes and its last value;
//   - a gap, if it is the last entry.
//
// Each keeps the time it was measured at while the merged frame has no more than
// eight instants. If there are more, eight of them are chosen, evenly, the last
// always, and a sample of another instant is written at the next one chosen: its
// value is true, its time late by at most an eighth of the merged interval. If two
// samples of one series would fall on the same instant, the earlier goes to
// the chosen instant before, and so is early by as much. Every other sample is
// absent there, and counted.
//
// Schemas, edges and configuration are never merged. Events stay, up to a bound.
package thin
