// Package plan writes what the operators of a simulated site keep in files: the
// plan of its cabling, power and cooling, and where its jobs were placed.
package plan
