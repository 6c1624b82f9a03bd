// Package notify sends incidents to receivers: each required revision at least once,
// under one id with one body.
//
// It owns claims, retries and the delivery state. The packages in its folder
// implement the kinds of receivers. It must never send two bodies under one id, let
// one receiver wait for another, or lose a pending delivery because a process was
// killed.
//
// # Guarantees
//
// A revision's body is a function of its stored bytes, so every attempt by
// every process sends the same. A delivery (one revision to one receiver) is
// claimed before it is sent and marked after. It is repeated only if no answer was
// recorded: the process was killed, or the receiver did not answer. Revisions of one
// incident reach a receiver in order, one at a time. A superseded revision is
// skipped if it failed or is old; the newest and those that resolve never are.
//
// # Selection of receivers
//
// Routes select the receivers of a revision. The board, which reads the whole
// stream, knows the open incidents: it withholds those that are silenced, that
// follow from another incident that is sent to the receiver, or that flap. A
// revision that is withheld is checked again until it is sent, or until the
// incident has ended and the receiver was never notified of it. Each decision is
// stored with the delivery before anything else happens, so that another process
// continues from it.
//
// # Stored state
//
// In the bucket of deliveries, these kinds of keys, as JSON (and one more, of
// package raise):
//
//	delivery.<incident>.<receiver>  Delivery: up to which revision all is settled, the attempt in flight, and why
//	receiver.<receiver>             position: up to which sequence of the stream all is settled; gone
//	alerts.<receiver>               position: the same of the stream of alerts
//	note.<incident>.<receiver>      noting: the note that was sent
//	retry.<incident>.<receiver>     wish: a request to retry a dead delivery
//
// One key per incident and receiver is claim, lock and mark in one: a writer names
// the revision of the key that it has seen, and the bucket refuses all but the first
// write. So two concurrent notifiers never send the same at once, and need not know
// of each other. A claim has a lease; a process that has seen the same claim for
// that long, by its own clock, takes it over.
//
// A process that starts reads the stream; after the settled sequence of its
// receivers it looks up the delivery of each revision. The bucket removes a key that
// has not changed for as long as the stream keeps incidents (90 days), and so both
// stay bounded.
//
// # First start
//
// A receiver that is served for the first time, or again after longer than retries
// last, is sent the open incidents, once, and all later revisions; not earlier ones.
package notify
