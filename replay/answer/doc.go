// Package answer prints incidents for people and compares two answers to one
// recording.
//
// It owns the text of an incident at a terminal, the file {"incidents":[…]}
// of the API (docs/http.md) and the differences between two such files, field by field.
// It never changes what an incident states.
package answer
