// Package receive takes what others push over HTTP: job steps, edges, events.
//
// It owns the form of those requests and what is refused in them. What it
// accepts it emits as records, like any collector.
package receive
