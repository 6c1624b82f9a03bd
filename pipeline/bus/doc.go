// Package bus is a site's log on NATS JetStream, and what lies beside it: the
// stream of incidents, snapshots, and questions to the engine.
//
// It owns subjects, streams and their limits, and the promise of an order: a
// record's position is its sequence in one stream. It never looks into what a
// record means, and it keeps trying for as long as its caller does.
//
// # What there is of a site
//
//	quintet-<site>-log         stream, file    every record; oldest removed by age and size
//	  quintet.v1.<site>.<collector>.{frames,schema,events,edges}
//	  quintet.v1.<site>.{ticks,config}
//	quintet-<site>-incidents   stream, file    one message for each revision, never a second; 90 days
//	  quintet.v1.<site>.incidents.<id>.<revision>[-<slot>]
//	quintet-<site>-snapshots   object store    the newest two, up to thirty in 512 MiB
//	quintet-<site>-deliveries  key-value       what the notifier claimed and sent; 90 days
//	quintet-<site>-notes       key-value       what people say of incidents; 90 days
//	quintet-<site>-silences    key-value       what is held back, until it is forgotten
//	quintet-<site>-replicas    key-value       who runs; 30 s
//	quintet.v1.<site>.ask.<what>               questions; nothing is kept
//
// Names in subjects are tokens (Token). A message of the log is the bytes that
// telemetry.AppendRecord writes. Frames carry the message id
// <fingerprint>/<incarnation>/<sequence> and ticks tick/<site>/<n>, so that a
// repeat within two minutes is stored once; whatever slips through is harmless,
// because records have an identity.
//
// # What is signed
//
// A revision carries the token of the user that wrote it and a signature over subject
// and content, where the connection's credentials are the site's own. Readers skip
// and count entries without (Foreign); a revision whose place one takes is published
// at the next slot. The metadata of the stream says from where on entries are signed.
//
// # What is promised
//
// A message that Send counts or Append returned for is stored. A follower sees
// each position once and in order, over any loss of connection, restart or kill
// of the server: it has no consumer that outlives a connection, but begins again
// where it stands, with the last entry it read, which must still be the same.
// Where that cannot be kept it ends with an error that says why (ErrForgotten,
// ErrRewritten), and nowhere else.
//
// Who follows a bucket (Follower) hears of every entry as it is and of what it
// becomes, though not of each state between; a change that it makes is made of what
// the entry is at that moment, whoever else changes it.
//
// What waits in memory is bounded by count and bytes: 512 messages or 4 MiB for
// each Send, two pulls of 256 messages or 1 MiB for each reader, plus one message
// that is larger by itself.
package bus
