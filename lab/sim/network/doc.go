// Package network is the traffic of a fabric as a fluid: the rate of each flow on
// shared links, the path that a hash gives it, how a queue marks and a sender
// answers, and which links stand still because a receiver downstream takes nothing.
//
// It owns steady states between two changes of the traffic and the step of a
// sender's control loop. Links and flows are dense integers of the caller; a link
// is one direction of a cable and belongs to the port that sends on it. Rates are
// in one unit of the caller's choice (bits per second in lab/sim/world): only
// packet sizes and published constants depend on it.
//
// It knows no job, no packet, no path of its own and no time of day.
package network
