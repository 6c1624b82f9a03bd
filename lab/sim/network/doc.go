// Package network is the traffic of a fabric as a fluid: what rate each flow
// gets on shared links, which way a hash sends it, how a queue marks and a
// sender answers, and which links stand still because somebody downstream takes
// nothing.
//
// It owns steady states between two changes of the traffic and the step of a
// sender's control loop. Links and flows are dense integers of the caller; a
// link is one direction of a cable and belongs to the port that sends on it.
// Rates are in one unit of the caller's choice (bits per second elsewhere):
// nothing here but packet sizes and published constants depends on it.
//
// It knows no job, no packet, no path of its own and no time of day.
package network
