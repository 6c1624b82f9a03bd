// Package sim is the simulated site: the physics of machines, links, power and
// heat under work, the same bits for the same seed on every machine.
//
// Its mechanisms are each in a package of its own that knows none of the
// others, each proved by closed forms:
//
//   - sim/random: numbers from a seed, by name, so that what is drawn for one
//     thing does not move with what is drawn for another
//   - sim/site: what a site of a size consists of and what is tied to what
//   - sim/network: what rates flows get on shared links, and which links stand
//     still because of it
//   - sim/heat: temperatures from power and coolant
//   - sim/gpu: power from clock and activity, clock from caps and temperature
//   - sim/plant: who feeds and cools what, what is drawn on where something
//     cannot, where flows and temperatures come to rest
//   - sim/work: jobs, what their ranks do in a step and whom they wait for
//   - sim/worlds: the parameters by which one site differs from another
//
// They meet in three: sim/condition states what is out of order, sim/world moves
// all of it a second on, sim/state is what instruments could then read. What a
// fault does to the condition of what it strikes, sim/fault states.
//
// It belongs to the pure wing: no clock, no goroutine, no I/O, no randomness
// but a passed seed, and of arithmetic only what is exact everywhere (I7).
package sim
