// Package broker is the NATS server that Quintet brings along: JetStream on a
// directory of its own, TLS and decentralised credentials from the start.
//
// It owns the data directory and its lock, the site's keys, and who may publish
// and read what. It knows nothing of what the messages say.
package broker
