// Package silence keeps silences: which messages are muted, when, why and who
// created them.
//
// It owns their form, their windows in time and the bucket that stores them. It
// must never decide what is sent: the notifier asks which silences mute an incident
// now. A silence is one key of the bucket, as JSON; processes that follow the
// bucket receive a change at once, and it outlives them all.
package silence
