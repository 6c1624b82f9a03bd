// Package logs writes what the hosts and switches of a simulated site would
// log: a stream of kernel messages per host, and syslog from every switch.
//
// It owns how drivers and switches word what happened. It tells what the board
// says has happened, and nothing else but the chatter that such logs have.
package logs
