// Package world is the simulated site as one whole: machines under work, on a
// network, with power and cooling, under a condition, one second at a time.
//
// It owns how the mechanisms act on one another: which traffic of which job is
// on which link when, what a rank's clock makes of its computing, who waits for
// whom, what counters rise by. It takes causes from condition.Set alone and
// writes what instruments could read into state.State. It knows no fault by
// name and no sensor.
//
// What a condition does here (what it does to power and coolant, package plant
// says):
//
//	Link.Down          both directions are gone; flows stall for a timeout, then are hashed again over what is left; without another way the collective stalls
//	Link.Speed         less capacity; what meets there queues and is marked
//	Link.Drain, NIC.PCIe  the receiver takes less: it stops the sender, which stops its feeders (Lossless.Stop)
//	Link.Hold          stopped all the time, nothing passes
//	Link.Corrupt, Loss, Decades, Heat  packets are damaged or vanish; the sender goes back N
//	Link.Heat, NIC.Heat   beyond some 15 and 25 K it also slows down
//	Link.Reorder       out-of-order packets at the receiver; with NIC.Strict they cost as lost ones do
//	Link.Hash, Pile    other ways for flows from the leaf: some uplinks carry two
//	NIC.Class, Switch.Class  drops instead of pause, no marks, CNPs ignored
//	Switch.Down        its cables are gone
//	Switch.NoMarks     senders are not notified: where more comes than goes, pause backs up
//	Switch.Eager       marks without a queue; senders hold back
//	Switch.Headroom    drops while paused
//	Switch.Weight      more (or less) of each node's bytes goes through the plane or rail
//	GPU.Clock          a lower top clock, no reason stated
//	GPU.Limit, Node.Limit  a lower power cap: clock, reason 0x4
//	GPU.Plate          a hotter die: heat reasons, then clock
//	GPU.NVLink         longer tensor-parallel exchange in its group, replays, links missing
//	GPU.Broken         xid, computes nothing: its job stalls and fails after its timeout
//	GPU.Delay, Node.Jitter, Node.Input  ranks that begin late: engine idle
//	Node.Down          all of it is gone
//	Job.*              as the fields state
//	Storage.Read, Write   longer loading behind the prefetch; longer checkpoints
//	Subnet.Failover    an event, nothing else: forwarding goes on
package world
