// Package topology is the view of what a site is made of and what can affect what:
// containment, cables, power and cooling, groups and job placement, as they hold at
// the grid last closed.
//
// It owns the statements (edges with their intervals and sources), the choice
// between statements that disagree, and the indexes that make a query cost as much
// as its answer. It never guesses a relation that was not stated, except for the
// containment that names imply, never forgets a statement because it
// grew old (it is stale, a blind spot), reads no clock and does no I/O.
//
// # How an edge becomes an answer
//
// Add files a statement. Advance(g) takes those whose start and receipt are at or
// before g, so that the order in which they came does not matter (I2), and merges
// statements of one identity: the newest receipt wins, at one receipt the one that
// ends the edge. An edge holds in [Start, End).
//
// Some relations exclude each other: a port has one peer, and an entity has one
// container of a kind. Where live edges disagree, all are put in one order and
// taken greedily: by the rank of their source (see Rank), fresh before stale, later
// start, later first receipt, identity. What lost is a Contradiction and is used in
// no answer. A containment that would close a loop loses in the same way.
//
// Every answer is in identity order (I3) and is a function of the statements and of
// g alone; inner indexes are no identities (I4) and leave no trace in a snapshot.
package topology
