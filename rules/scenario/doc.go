// Package scenario reads the small stories that prove a signature: what a site
// states, second by second, and which incident must come of it.
//
// It owns the notation (docs/scenarios.md), the records that a story means
// for, and the comparison of what is wanted with what came. It knows no
// engine: who runs a scenario feeds Records to one and hands its incidents to
// Check. Records are a function of the file alone; jitter comes from the
// file's seed.
package scenario
