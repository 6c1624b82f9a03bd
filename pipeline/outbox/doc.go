// Package outbox carries what collectors emit to the log, and holds it while
// the log is away: in memory, then in a bounded file, then thinned.
//
// It owns the order oldest first, the renewal of schemas and edges, and the
// account of everything removed, by reason. Emitting never waits.
//
// # Where a record is
//
// Emit encodes a record and puts it behind the newest in memory. Run takes the
// oldest there are into a batch, and the batch stays until the log is known to
// have all of it. So a record is in one of three places, and they are in order:
//
//	the batch being sent  →  the spill, on disk  →  memory
//	oldest                                          newest
//
// While anything lies on disk nothing is sent from memory. What was tried once is
// never thinned, so nothing that may be in the log already is said otherwise.
//
// Memory goes to disk from three quarters of its bound on, while the log is away
// or slow. The spill (package spill) is thinned from two thirds of its bound on:
// its oldest half, coarser from time to time (package thin). Where there is no
// disk, or it fails, memory is thinned the same way. If even that is not enough,
// the oldest are dropped. Everything removed is counted by reason, in the
// process's metrics and as samples of collector:<process>, so that a reader of the
// log sees the gap.
//
// When Run ends it sends what the log takes within Config.Flush and puts the rest
// on disk: the batch before what lies there, memory behind it. The next process
// finds it and sends it first.
//
// # What is said again
//
// A schema goes before the first frame that needs it, whenever the log was not
// told within Renew: at the start, after a long absence, from an old spill. The
// newest schema of every source and every open edge are said again every Renew,
// not while the log is away. A renewed edge is dated now. It must therefore not
// overtake what its collector said of it since: only an edge whose newest
// statement the log has is renewed, and a later statement is dated behind the
// renewal.
//
// # Names
//
// A frame's message id is the bus's, with "/thinned" behind it where it stands for
// several: its number was that of the last of them.
package outbox
