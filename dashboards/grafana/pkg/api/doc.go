// Package api is a client of Quintet's HTTP API (docs/http.md in the project) and
// follows its stream of incidents. It owns the wire format of a response and the
// errors of one. It knows nothing of Grafana, holds no state between requests and
// never changes anything in Quintet.
package api
