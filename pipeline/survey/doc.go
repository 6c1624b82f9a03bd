// Package survey says what a site shows of itself and what it hides: which
// metrics, events and relations were heard from whom and when, which of the
// telemetry that NVIDIA asks a site for is among them, and which faults can
// therefore not be told apart.
//
// It owns the census of what records state, the list of requirements, and the
// judgement of both. It must never change an answer of the engine's: it looks
// at the same records and keeps to itself.
package survey
