// Package logs writes what the hosts and switches of a simulated site would log: a
// stream of kernel messages per host, and syslog from every switch.
//
// It owns how drivers and switches word what happened. It logs the events of the
// board, and nothing else but the usual chatter of such logs.
package logs
