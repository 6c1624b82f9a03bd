// Package correlatetest changes logs in ways that must not change an answer:
// the metamorphic laws behind invariants I2, I4 and I9. Arrivals are shuffled
// inside the lateness class, records repeated, instants put into other frames,
// ticks retimed, schemas written in another order.
//
// It owns those transformations, all seeded: one seed, one result. It must
// never know what the engine does with a log, and only tests import it.
package correlatetest
