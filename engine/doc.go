// Package engine runs the engine of package correlate: the one thing that the
// live pipeline and the replayer share.
//
// It owns the position in the log, the slices of work that run side by side,
// the digest of what was published, and snapshots. It must never decide
// anything about a site, and never read a clock: the ticks of the log determine
// when a snapshot is due.
//
// # Digest
//
// A chain of SHA-256 over the published revisions as canonical JSON, in the
// order of publication: d' = SHA-256(d | length | bytes), from 32 zero bytes.
// Two runs that published the same revisions have the same digest, and two
// replicas compare it.
//
// # Claims
//
// Several replicas may read one log; the log itself determines which of them
// publish. A [Claim] is a config record by which a replica states that it publishes
// from here on. A claim names the one it replaces, and counts only if that is
// the one in force: of two at a time the first is in force, and every reader of the
// log agrees which. The claim in force is the [Reign].
//
// A claim carries the incidents that were published so far. A runner of the
// engine that it names continues them under their ids, and its state is still
// a function of the log alone. A runner of another engine or of other rules only
// records the reign.
//
// # Snapshot
//
//	+---------+---------+----------------+--------------+----------+------+--------+-----------+--------+------+--------+
//	| magic 8 | version | engine version | rules digest | position | tick | digest | incidents | reign  | body | CRC-32 |
//	|         | u32     | string         | string       | u64      | i64  | 32     | strings   | string | str. | C, u32 |
//	+---------+---------+----------------+--------------+----------+------+--------+-----------+--------+------+--------+
//
// Integers are little endian; a string is a u32 length and its bytes;
// incidents are a u32 count and each newest revision as JSON, the reign is JSON,
// too; the body is correlate's own. The CRC is of everything before it. A
// snapshot of another engine version or of other rules is refused (I5).
package engine
