// Package dial reaches devices over the management network, and nothing else.
//
// It owns which addresses may be dialled (design B6), how TLS is set up and
// renewed, and when a connection counts as dead. It must never know the protocol
// above the connection.
package dial
