// Package redfish reads management controllers over Redfish: nodes' BMCs, power
// shelves, PDUs, coolant units. It walks a service for what its mapping knows,
// reads metric reports where the service has them and resources where not, and
// listens to the event stream and the event log.
//
// It owns one service: a session, one request in flight, a cadence per class of
// resource. What a property means is not in its code but in a mapping file,
// which a user's own file extends. It must never write to a device but for its
// own session, never follow a link or a redirect to another host, and never
// take what a device does not know for a zero.
package redfish
