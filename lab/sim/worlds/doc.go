// Package worlds holds the parameters by which one simulated site differs from
// another, and draws them from a seed.
//
// A World is a plain value. Its zero value is the standard site. Families lists
// the kinds of difference; Draw returns the World of a family and a seed: what
// the family is about varies, everything else stays as it is at the standard
// site. docs/simulator.md has the table of families, ranges and sources.
//
// The package owns ranges and the conversions that every reader of a parameter
// needs (Scale.Of, Noise.Next, Names.Entity). It knows no physics, no job, no
// fault and no source of telemetry: packages work, world, plant and measure
// read the parameters.
package worlds
