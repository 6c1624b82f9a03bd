// Package snapshot writes and reads the state of the engine's parts with one
// piece of code: a part has a single method Snapshot(c *Codec) that names its
// fields in order, and the Codec either appends them or fills them in. So what
// is written and what is restored cannot drift apart.
//
// It owns the layout of a snapshot's bytes (little endian, counts before
// lists, no names). It never trusts what it reads: a count is compared with the
// bytes that are left before anything is allocated, and the first error stops
// everything after it. It does not depend on the parts.
package snapshot
