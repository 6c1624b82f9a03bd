// Package load makes the frames of a site for benchmarks: any size up to the
// reference site, healthy or noisy, the same for the same seed.
//
// It owns what such a site's numbers look like: counters that rise, four
// fifths of all series unchanged from one instant to the next, gauges that
// wander. It is no simulation: nothing causes anything, there are no faults and
// no truth to be found (package lab/sim does that). It reads no clock.
package load
