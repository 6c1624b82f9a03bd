// Package ibsim puts InfiniBand subnets on the wire: ibsim simulates the switches
// and adapters, OpenSM manages them, and the programs of infiniband-diags see them
// as they would see a real subnet.
//
// It owns the plan of a subnet, ibsim's file and console, and the processes, all of
// which end on request. It must never invent what a device counts: counters come
// from a site's board, or from a caller who sets them.
package ibsim
