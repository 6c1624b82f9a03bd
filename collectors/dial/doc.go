// Package dial reaches devices over the management network, and nothing else.
//
// It owns which addresses may be connected to (docs/threats.md), how TLS is set up and
// renewed, and when a connection counts as dead. It must never know the protocol
// above the connection.
package dial
