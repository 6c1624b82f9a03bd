// Package baseline ranks roots with simple methods: the series that deviates most
// from its own past names the root.
//
// It owns three methods that know no topology, no signature and no job: the largest
// deviation in standard deviations (max z), the largest shift of the median in
// interquartile ranges (as BARO does, Pham et al., FSE 2024), and the earliest
// onset. All are given the beginning and end of the fault, which the engine is not.
// They rank all entities but jobs and their ranks. It must never see the true place
// of the fault.
package baseline
