// Package crosscheck simulates whole sites a second time, apart from lab/sim, so
// that the diagnosis can be measured on sites whose physics it was not written
// beside. It shares no code and no model with lab/sim: jobs are sequences of
// events, collectives are transfers with max-min fair rates between two events,
// heat relaxes in closed form from event to event, and each device is read by a
// polling clock of its own.
//
// It owns two kinds of site: InfiniBand rails (IB) and RoCE leaf-spine (RoCE).
// Generate returns a case with its truth as plain values, equal for equal kinds
// and seeds. The package must never read a clock, do I/O, or import the engine,
// its signatures or lab/sim.
package crosscheck
