// Package fabric reads a lossless network from its counters: where traffic
// stands, who told whom to stop, and where that waiting ends.
//
// It owns the map of links (Map), what each end of a link did in a span of
// grids (Reading), and the walk from a job's waiting ports to the ends that do
// not themselves wait (Blame). It never decides what the trouble is: it gives
// numbers, and explain weighs them.
//
// Direction: a port that is told to stop is a victim, however large its queue.
// The walk follows "told to stop" to the peer, then to that switch's own
// egress ports that stood or were told to stop in the same grids, and so on.
// It ends at a port that has a queue and is not told to stop, or at a nic that
// sends pause to its switch. Severity is pause seconds per second and seconds
// with a standing queue per second, never counts of frames (design B4.4).
package fabric
