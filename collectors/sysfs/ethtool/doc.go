// Package ethtool reads a network device's statistics by name: from the kernel,
// or from a recorded listing.
//
// It owns the listing's form and the kernel call. What a name means is told by
// package sysfs.
package ethtool
