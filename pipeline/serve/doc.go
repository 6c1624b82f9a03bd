// Package serve is the HTTP server: the API, the stream of events, the page
// (docs/http.md).
//
// It owns the form of requests and answers, who may ask, and people's notes on
// incidents (an acknowledgement, a verdict). It gets every fact from others and
// keeps none that it could not fetch again: the newest incidents are followed in
// their stream, what changes without a revision is asked of the engine, curves are
// the recorder's.
//
// # Bounds
//
// Incidents, streams of events, pictures, bodies and headers are bounded, and every
// refusal is counted. A stream of events holds no queue of its own: all read one
// ring of the newest revisions, each at its own place, and a client that has fallen
// behind the ring reads on in the stream of incidents.
package serve
