// Package ethtool reads the statistics that network drivers count under names
// of their own, from the kernel or from a recorded listing.
//
// It owns how they are asked for and that every number keeps its name: the
// driver's table changes with firmware, configuration and the kind of
// interface, so names are read at every open, two of the same name stay two,
// and a table that has changed is an error rather than numbers under wrong
// names. It knows no metric, sets nothing on a device, and executes no program.
package ethtool
