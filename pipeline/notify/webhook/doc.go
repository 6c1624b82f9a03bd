// Package webhook speaks to a receiver over HTTP, signed by Standard Webhooks.
//
// It owns the request: headers, signature, timeouts, and what an answer means.
package webhook
