// Package correlate is the engine: a pure function of a site's log. Records go in
// one at a time; findings and incidents come out.
//
// It owns what follows from the records: closed grids, findings, the topology in
// time, jobs and their steps, the pause graph, incidents and their losses. It must
// never read a clock, start a goroutine, take a lock, write a log line, draw a
// random number or touch a file or a socket: the same log gives the same incidents
// on any machine, live or from a file. The shells around it (pipeline and replay,
// both through engine) do all of that.
//
// [Engine.Step] is the only way in and its Output the only way out. A bad record is
// an outcome that is counted, never an error and never a panic.
//
// # Invariants
//
// Each has a test of its name in package engine, run on a recorded trace. Code that
// upholds one cites it by number.
//
// I1. Only ticks move time. No other record closes a grid, opens or changes an
// incident, or makes anything stale, whatever times it carries.
//
// I2. Arrival order inside a source's wait does not matter, nor does batching or
// repetition: the wait is what its recent samples needed, and its lateness class's
// lateness at most. A sample is identified by (source, series, time), an event by
// (entity, time, name, text), an edge by what it states; a repeat is ignored. What
// comes before a source's grid is closed is judged the same whenever it came.
//
// I3. Output order is by time, entity, name. Nothing depends on the order of a map,
// a slice of work or an arrival.
//
// I4. A series index is not an identity. Dense indices are allotted as schemas
// come; a site whose schemas list their entities and metrics in another order has
// the same incidents, and a snapshot names series, not indices.
//
// I5. The state after position p is Restore(snapshot at q ≤ p) and the records (q,
// p], nothing else. A snapshot carries its position, the engine's version and the
// digest of its rules, and is refused by an engine that differs in either. A
// restored engine and one that never stopped are indistinguishable. An engine
// without a snapshot continues the incidents that were published before it (warm
// start): they come to it with a record of the log, and are state from there on.
//
// I6. No floating-point statistic subtracts what it added. Sums over a window are
// summed afresh from its buckets, so that rounding leaves no trace of values that
// have left the window.
//
// I7. Only + − × ÷ √ on floats, every product rounded before it can meet a sum
// (float64(a*b) + c), and exp, log and power from correlate/stats, built from
// those. The same bits come out on amd64, on amd64 with fused multiply-add, and on
// arm64.
//
// I8. The number of slices does not change the answer. Work is cut into slices of
// dense arrays; what the slices find is collected in identity order.
//
// I9. The cadence of ticks changes no output. One tick that passes n grids closes
// them one by one, in the order of time, as n ticks would have done.
package correlate
