// Package outbox carries what collectors emit to the log, and holds it while
// the log is away: in memory, then in a bounded file, then thinned.
//
// It owns the order oldest first, the renewal of schemas and edges, and the
// account of everything removed, by reason. Emitting never waits.
package outbox
