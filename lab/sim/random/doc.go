// Package random draws numbers from a seed, the same bits on every machine.
//
// It owns the generator (SplitMix64: Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014) and the distributions a
// simulation needs. Draws are addressed: by name (Named) and by number (At), so
// that what one part draws moves nothing in another. A run with a fault and the
// same run without it therefore differ by the fault alone.
//
// It is no source of secrets.
package random
