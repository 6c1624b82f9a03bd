// Package webhook notifies a receiver over HTTP, signed by Standard Webhooks.
//
// It owns the request: headers, signature, timeouts, and the meaning of a response.
// It must never follow a redirect, send a request twice by itself, or let a secret
// or an address with one in it get into a log. docs/webhooks.md documents the
// requests for receivers.
package webhook
