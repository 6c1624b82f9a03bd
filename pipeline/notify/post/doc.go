// Package post sends one HTTP request and interprets its response, for every kind
// of receiver over HTTP.
//
// It owns addresses, headers, TLS, timeouts and verdicts. It must never follow a
// redirect, send a request twice by itself, or let a secret or an address with one
// in it get into a log or an error.
package post
