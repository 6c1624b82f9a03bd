// Package serve is the HTTP face: the API, the stream of events, the page
// (docs/http.md).
//
// It owns the form of requests and answers, who may ask, and what people say of
// an incident (an acknowledgement, a verdict). It asks others for every fact and
// keeps none that it could not fetch again: the newest incidents are followed in
// their stream, what changes without a revision is asked of the engine, curves
// are the recorder's.
//
// # Bounds
//
// Incidents, streams of events, pictures, bodies and headers are bounded, and
// every refusal is counted. A stream of events holds no queue of its own: all
// read one ring of the newest revisions, each at its own place, and who has
// fallen behind the ring reads on in the stream of incidents.
package serve
