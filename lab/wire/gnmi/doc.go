// Package gnmi puts the switches of a simulated site on the wire: each is a gNMI
// server of its own over TLS, and speaks as its vendor's switches do.
//
// It owns the dialects: names, paths, encodings and quirks. What a switch would
// answer it asks the board; it must never make a number up that the collector
// then carries, and it holds no secret that outlives it.
package gnmi
