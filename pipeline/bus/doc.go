// Package bus is a site's log on NATS JetStream, with the stream of incidents,
// snapshots, and questions to the engine.
//
// It owns subjects, streams and their limits, and guarantees an order: a record's
// position is its sequence in one stream. It never interprets a record, and it
// retries until its caller's context is done.
//
// # Streams and subjects of a site
//
//	quintet-<site>-log         stream, file    every record; oldest removed by age and size
//	  quintet.v1.<site>.<collector>.{frames,schema,events,edges}
//	  quintet.v1.<site>.{ticks,config}
//	quintet-<site>-incidents   stream, file    one message for each revision, never a second; 90 days
//	  quintet.v1.<site>.incidents.<id>.<revision>[-<slot>]
//	quintet-<site>-snapshots   object store    the newest two, up to thirty in 512 MiB
//	quintet-<site>-deliveries  key-value       what the notifier claimed and sent; 90 days
//	quintet-<site>-notes       key-value       people's notes on incidents; 90 days
//	quintet-<site>-silences    key-value       silences, until they are forgotten
//	quintet-<site>-replicas    key-value       running replicas; 30 s
//	quintet.v1.<site>.ask.<what>               questions; nothing is kept
//
// Names in subjects are tokens (Token). A message of the log is the bytes that
// telemetry.AppendRecord writes. Frames carry the message id
// <fingerprint>/<incarnation>/<sequence> and ticks tick/<site>/<n>, so that a
// duplicate within two minutes is stored once; a later duplicate is harmless,
// because records have an identity.
//
// # Signatures
//
// A revision carries the token of the user that wrote it and a signature over subject
// and content, where the connection's credentials are the site's own. Readers skip
// and count entries without one (Foreign); a revision whose subject holds a foreign
// entry is published at the next slot. The metadata of the stream has the sequence
// from which entries are signed.
//
// # Guarantees
//
// A message that Send counts or Append returned for is stored. A follower sees
// each position once and in order, over any loss of connection, restart or kill
// of the server: it has no consumer that outlives a connection, but resumes at its
// position, with the last entry it read, which must still be the same. If that is
// not possible it ends with an error that gives the reason (ErrForgotten,
// ErrRewritten), and in no other case.
//
// A Follower of a bucket receives every entry and its changes, though not every
// value in between; it changes an entry on the basis of its current value, under
// concurrent writes too.
//
// Messages in memory are bounded by count and bytes: 512 messages or 4 MiB for each
// Send, two pulls of 256 messages or 1 MiB for each reader, plus one message that is
// larger by itself.
package bus
