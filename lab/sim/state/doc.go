// Package state is the true state of a simulated site at an instant, as
// instruments could read it: counters that only rise, and gauges.
//
// It is where physics and measurement meet: world writes it, measure reads it.
// It knows no sensor, no cadence and no error of measurement, and no fault.
package state
