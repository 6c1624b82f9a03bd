// Package client asks a Quintet server and follows its stream.
//
// Types and methods are generated from the server's OpenAPI document, a copy of
// which is openapi.json: there is a method for each operation, named after it.
// This package imports the standard library alone.
//
//	c, err := client.New("http://127.0.0.1:8420")
//	...
//	list, err := c.GetIncidents(ctx, client.GetIncidentsParams{State: "open"})
//
// An answer that is not a success is an *Error, with the server's problem
// details (RFC 9457). A Client may be used by many goroutines at once.
package client
