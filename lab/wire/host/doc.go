// Package host keeps the trees that the hosts of a simulated site would show
// under /sys, and what ethtool would print of their network interfaces, as files
// that change as the site goes on.
//
// It owns where a ConnectX adapter and its driver show what. A RoCE adapter
// counts the wire by ethtool, with pause by priority, and RDMA in sysfs; an
// InfiniBand adapter counts everything in sysfs, bytes as 4-byte words.
package host
