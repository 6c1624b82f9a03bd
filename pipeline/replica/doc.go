// Package replica runs one copy of the engine over the log: from a snapshot, in
// order, publishing each revision once.
//
// It owns when a replica may speak, what it does when another one disagrees, its
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
// The owner is the one goroutine that touches the engine; it waits for nobody.
// Whatever waits for a server is done by the others: the publisher stores
// revisions for as long as it takes, the herald says that the replica is there,
// finds out who else is, and claims.
//
// # Who publishes
//
// The log says it (docs/decisions/0015-who-publishes-is-said-by-the-log.md): a
// replica whose state is the one that the claim in force speaks of, and that has
// read every claim up to the end of the log.
package replica
