// Package board holds what the devices of a simulated site would answer if they
// were asked now: the latest reading of every series, the site's edges, and what
// has happened.
//
// It owns nothing of a protocol: who puts a device on the wire asks the board
// and writes the answer as such devices do. It must never judge a reading.
package board
