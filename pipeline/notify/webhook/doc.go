// Package webhook speaks to a receiver over HTTP, signed by Standard Webhooks.
//
// It owns the request: headers, signature, timeouts, and what an answer means.
// It must never follow a redirect, send a request twice by itself, or let a
// secret or an address with one in it get into a log. docs/webhooks.md tells
// receivers what comes.
package webhook
