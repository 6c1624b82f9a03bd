// Package silence keeps silences: whose messages are held back, when, why and by
// whose word.
//
// It owns their form, their windows in time and the bucket that they live in. It
// must never decide what is told: who tells asks what mutes an incident now. A
// silence is one key of the bucket, as JSON; processes that follow the bucket
// hear of a change at once, and it outlives them all.
package silence
