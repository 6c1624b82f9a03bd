// Package replica runs one replica of the engine over the log: from a snapshot, in
// order, publishing each revision once.
//
// It owns when a replica may publish, what it does when another one diverges, its
// snapshots, and the answers to questions about the engine. It is the only owner
// of its engine and never decides anything about the site.
//
// # Parts
//
//	log ──▶ reader ──▶ owner ──▶ publisher ──▶ stream of incidents
//	                  ▲  engine     │
//	       questions ─┘             └────────▶ keeper of snapshots
//	       herald: presence, claims
//
// The owner is the only goroutine that uses the engine; it never blocks on a server.
// The others do: the publisher stores revisions for as long as it takes, the herald
// reports the replica's presence, lists the other replicas, and claims.
//
// # The publishing replica
//
// The log decides it (docs/decisions/0015-who-publishes-is-said-by-the-log.md): a
// replica publishes if its state is the one that the claim in force names, and if it
// has read every claim up to the end of the log.
package replica
