// Package symptom reads evidence from telemetry itself: what every machine,
// link and part of the plant that a job stands on did during the job's hurt,
// against what it did before and against its peers.
//
// It owns which entities a job is coupled to (a survey of the topology), which
// series of them are read (what the signatures ask for, nothing else), what a
// clue's reading comes to for a candidate root, which of the job's GPUs and
// ranks are afflicted, and who stands over them. It never weighs: that is
// explain's work; and it never looks at an entity that no edge leads to.
package symptom
