// Package notify tells receivers of incidents: each revision that must be told,
// at least once, under one id with one body.
//
// It owns claims, retries and what was delivered. How a receiver is spoken to
// is told by the packages in its folder. It must never tell two things under
// one id, let one receiver wait for another, or forget what is owed because a
// process was killed.
//
// # What is promised
//
// A revision's body is a function of its stored bytes, so every attempt by
// every process sends the same. A delivery (one revision to one receiver) is
// claimed before it is sent and marked after. It is repeated only where no
// answer was recorded: the process was killed, or the receiver did not answer.
// Revisions of one incident reach a receiver in order, one at a time. One that
// a newer one has superseded is passed over where it failed or is old; the
// newest and those that resolve never are.
//
// # Who is told
//
// Routes say which receivers a revision is for. The board, which reads the whole
// stream, knows what is open: it holds back what is silenced, what follows from
// another incident that the receiver is told of, and what comes and goes. What
// is held back is looked at again until it is told, or is over and nobody knew of
// it. Each decision is written beside the delivery before anything else happens,
// so that another process takes up from it.
//
// # What is kept
//
// In the bucket of deliveries, these kinds of keys, as JSON (and one more, of
// package raise):
//
//	delivery.<incident>.<receiver>  Delivery: up to which revision all is settled, the attempt under way, and why
//	receiver.<receiver>             standing: up to which sequence of the stream all is settled; gone
//	alerts.<receiver>               standing: the same of the stream of alerts
//	note.<incident>.<receiver>      noting: what was told of what people said
//	retry.<incident>.<receiver>     wish: somebody asks that what is dead be tried again
//
// One key per incident and receiver is claim, lock and mark in one: whoever
// changes it names the revision of the key he has seen, and the bucket refuses
// all but the first. So two notifiers beside each other never send the same at
// once, and need not know of each other. A claim names its lease; whoever has
// seen the same claim for that long, by his own clock, takes it over.
//
// A process that starts reads the stream; behind where its receivers stand it
// looks up what it finds. The bucket forgets a key that has not changed for as
// long as the stream keeps incidents (90 days), and so both stay bounded.
//
// # Where it begins
//
// A receiver that is served for the first time, or again after longer than
// retries last, is told what is open, once, and whatever comes after; not what
// was.
package notify
