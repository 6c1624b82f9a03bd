// Package survey reports what a site shows of itself and what it hides: which
// metrics, events and relations were received from which collector and when, which
// of the telemetry that NVIDIA requires of a site is among them, and which faults
// therefore cannot be distinguished.
//
// It owns the census of records, the list of requirements, and the judgement of
// both. It must never change an answer of the engine's: it reads the same records
// and shares no state with it.
package survey
