// Package dial reaches devices over the management network, and nothing else.
//
// It owns which addresses may be dialled (design B6) and how TLS is set up and
// renewed. It must never know a protocol.
package dial
