// Package cloudevents sends CloudEvents 1.0 over HTTP, in structured or in binary
// mode.
//
// It owns the attributes of an event. Its id is the message's, so that a consumer
// that keeps source and id sees each once.
package cloudevents
