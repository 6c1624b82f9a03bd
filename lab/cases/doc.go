// Package cases makes runs of the simulated site whose truth is known, plays them
// into the engine in memory, and states how the answers are to be judged.
//
// It owns what a case is made of (a site, its jobs, one or two faults, their
// severity, how it is measured), the truth about it in the format of a bundle's
// truth.json, measured against the same seed without the fault, and the tiers of
// cases that are reported. Seeds 1 to 99 are for tuning, seeds from 1001 on for
// reporting: nothing may be tuned on those. It must never give the engine anything
// that a site would not report, nor judge an answer: package replay/score does.
package cases
