// Package broker is the NATS server that Quintet brings along: JetStream on a
// directory of its own, TLS and decentralised credentials from the start.
//
// It owns the data directory and its lock, the site's keys, and who may publish
// and read what. It knows nothing of what the messages say.
//
// # The directory
//
//	lock              held while a server runs; the number of its process
//	keys/             0700, files 0600
//	  operator.seed   signs accounts
//	  account.seed    the site's account: signs users; the collectors' account is
//	                  derived from it
//	  collectors.since  credentials of the site's account up to here are revoked
//	  system.seed     the server's own account
//	  ca.crt ca.key   the site's authority, ten years
//	  server.crt .key the listener's certificate, a year; renewed 60 days before
//	                  its end, while it runs, too
//	jetstream/        streams
//
// Keys are made at the first start. Where one is missing later the start fails:
// a new one would lock out everybody who was enrolled and find an empty log.
//
// # Who may do what
//
// There are two accounts. Processes of the site (tick, engine, store, notify, web)
// are users of the site's account, which owns JetStream and everything that is
// stored. Processes that only collect are users of the collectors' account, which
// has no JetStream and imports one thing, as a service: the subjects of records. So
// whatever a collector publishes, and whatever reply subject it names, nothing but a
// record under its own name arrives in the site's account.
//
// A user is a key and a token that names what it may publish and subscribe to,
// signed by the account; the server keeps no list. So enrolling a process writes
// a file and changes nothing else. Users of this process (Connection) exist in
// memory only and are refused on the listener; users of others (Enroll) are
// refused in this process. Everybody has an inbox of their own, which nobody
// else can read.
//
// # What is lost
//
// Nothing by a kill; by a power cut what came in the last SyncInterval.
package broker
