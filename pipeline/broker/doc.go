// Package broker is the embedded NATS server: JetStream on a directory of its own,
// TLS and decentralised credentials from the start.
//
// It owns the data directory and its lock, the site's keys, and the permissions to
// publish and read. It does not interpret messages.
//
// # The directory
//
//	lock              held while a server runs; the id of its process
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
// Keys are created at the first start. If one is missing later the start fails: a
// new one would lock out every enrolled process and find an empty log.
//
// # Who may do what
//
// There are two accounts. Processes of the site (tick, engine, store, notify, web)
// are users of the site's account, which owns JetStream and everything that is
// stored. Processes that only collect are users of the collectors' account, which
// has no JetStream and imports one service: the subjects of records. So whatever a
// collector publishes, and whatever reply subject it names, only records under its
// own name arrive in the site's account.
//
// A user is a key and a token that names what it may publish and subscribe to,
// signed by the account; the server keeps no list. So enrolling a process writes
// a file and changes nothing else. Users of this process (Connection) exist in
// memory only and are refused on the listener; users of others (Enroll) are
// refused in this process. Every user has a private inbox, which no other user can
// read.
//
// # Durability
//
// A kill loses nothing; a power cut loses the messages of the last SyncInterval.
package broker
