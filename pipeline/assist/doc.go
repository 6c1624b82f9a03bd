// Package assist answers assistants: programs that use the Model Context Protocol
// on behalf of a person (docs/mcp.md).
//
// It owns the tools: their names and arguments, how an answer is cut to size and
// what it cites. Every fact comes from the HTTP API, of which it holds no more than
// [API], whose only verb is Get: it must never be able to change anything.
//
// # Bounds
//
// An answer has at most [MaxAnswer] bytes of JSON; it states what was left out to
// keep to that. A replay has bounds of time and size, and one runs at a time.
// Nothing is kept between two calls.
package assist
