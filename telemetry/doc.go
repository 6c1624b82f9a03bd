// Package telemetry holds the facts a site can state: samples, events, edges,
// schemas, ticks and configuration, the catalogue that states what a metric
// means, and the bytes in which they travel and are stored.
//
// It owns the types for entities, edges, metrics, events and records and the frame encoding. It never
// concludes anything, reads no clock and does no I/O; it imports nothing of
// ours, so that a collector on a host needs nothing else.
//
// # What a record is
//
// A site is one ordered log of records: schema, frame, event, edge, config and
// tick. Everything that can change an answer is one of them. A schema gives
// the series of one source dense positions once; after that frames carry
// numbers only.
package telemetry
