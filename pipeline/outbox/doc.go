// Package outbox sends the records of collectors to the log, and buffers them while
// the log is unreachable: in memory, then in a bounded file, then thinned.
//
// It owns the order oldest first, the renewal of schemas and edges, and the
// account of everything removed, by reason. Emitting never blocks.
//
// # The path of a record
//
// Emit encodes a record and appends it to the records in memory. Run takes the
// oldest records into a batch, and keeps the batch until the log is known to have
// all of it. So a record is in one of three places, and they are in order:
//
//	the batch being sent  →  the spill, on disk  →  memory
//	oldest                                          newest
//
// While records are on disk nothing is sent from memory. Records that were sent
// once are never thinned, so that the log never has two versions of a record.
//
// Memory is spilled to disk from three quarters of its bound on, while the log is
// unreachable or slow. The spill (package spill) is thinned from two thirds of its
// bound on: its oldest half, coarser from time to time (package thin). Without a
// disk, or if it fails, memory is thinned the same way. If even that is not enough,
// the oldest records are dropped. Everything removed is counted by reason, in the
// process's metrics and as samples of collector:<process>, so that a reader of the
// log sees the gap.
//
// When Run ends it sends what the log accepts within Config.Flush and writes the
// rest to disk: the batch before the records there, memory after them. The next
// process finds them and sends them first.
//
// # Renewal
//
// A schema is sent before the first frame that needs it, if it was not sent within
// Renew: at the start, after a long absence, from an old spill. The newest schema of
// every source and every open edge are sent again every Renew, not while the log is
// unreachable. A renewed edge is dated now. It must therefore not overtake a later
// statement of its collector: only an edge whose newest statement the log has is
// renewed, and a later statement is dated after the renewal.
//
// # Names
//
// A frame's message id is the bus's, with the suffix "/thinned" if it replaces
// several frames: its number was that of the last of them.
package outbox
