// Package gnmi collects from switches over gNMI: it dials in, subscribes, and turns
// notifications into frames, edges and events.
//
// It owns what a path of a vendor's tree means (the profiles, which are data) and
// how a session is kept. It reads only: Capabilities and Subscribe. It must never
// hammer a switch that refuses, and never difference or correct a counter.
//
// # From a path to a series, once
//
// A message is walked as it came over the wire. The bytes of an update's path find
// the series that they mapped to last time; only bytes that were never seen are
// decoded, matched against the profile, and given a place. A value that is JSON is
// walked the same way, member by member.
package gnmi
