// Package status computes the state of a site, of its domains and of its entities
// from open incidents, risks, alerts and coverage.
//
// It owns the one answer to "is it healthy?" that the page, the API and the command
// line give. It must never report as healthy what has no data, and it knows no
// clock, no bus and no HTTP.
package status
