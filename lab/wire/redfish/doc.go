// Package redfish puts a simulated site's management controllers on the wire: a
// Redfish service over HTTPS for every node's BMC, power shelf, PDU, coolant
// unit, UPS and air handler, as such devices answer: sessions and basic
// authentication, resources, metric reports, an event stream, an event log,
// and on request the flaws that real ones have.
//
// It owns the form of the answers. What they contain is the board's; it must never
// make up a reading, and it keeps no secret in the repository: the certificate
// and the password are made at start.
package redfish
