// Package bus is a site's log on NATS JetStream, and what lies beside it: the
// stream of incidents, snapshots, and questions to the engine.
//
// It owns subjects, streams and their limits, and the promise of an order: a
// record's position is its sequence in one stream. It never looks into what a
// record means, and it keeps trying for as long as its caller does.
package bus
