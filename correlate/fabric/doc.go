// Package fabric reads a lossless network from its counters: where queues build up,
// which end sent pause to which, and where that waiting ends.
//
// It owns the map of links (Map), what each end of a link did in a span of grids
// (Reading), and the walk from a job's waiting ports to the ends that do not
// themselves wait (Blame). It never decides what the fault is: it gives numbers,
// and explain weighs them.
//
// Direction: a port that receives pause is a victim, however large its queue. The
// walk follows pause received to the peer that sent it, then to that switch's own
// egress ports that had a queue or received pause in the same grids, and so on. It
// ends at a port that has a queue and receives no pause, or at a NIC that sends
// pause to its switch. Severity is pause seconds per second and seconds with a
// queue per second, never counts of frames.
package fabric
