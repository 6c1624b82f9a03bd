// Package api asks a Quintet server over its HTTP API (docs/http.md in the
// project) and follows its stream of incidents. It owns what an answer is on
// the wire and what may be wrong with one. It knows nothing of Grafana, holds
// no state between questions and never changes anything in Quintet.
package api
