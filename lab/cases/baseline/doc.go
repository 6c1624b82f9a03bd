// Package baseline is what simple methods would have answered: the series that
// stray furthest from their own past name the root.
//
// It owns three methods that know no topology, no signature and no job: the
// largest deviation in standard deviations (max z), the largest shift of the
// median in interquartile ranges (as BARO does, Pham et al., FSE 2024), and
// the earliest onset. All are told when the fault began and ended, which the
// engine is not. They judge what is left to judge: entities but jobs and their
// ranks. It must never see the truth about where.
package baseline
