// Package openapi writes the OpenAPI 3.1 document of an HTTP API: operations as a
// server's route table declares them, bodies as encoding/json writes their Go
// types.
package openapi
