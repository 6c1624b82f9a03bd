// Package symptom reads evidence from telemetry itself: what every machine, link
// and part of the plant that a job depends on did while the job was degraded,
// compared with what it did before and with its peers.
//
// It owns which entities a job is coupled to (a survey of the topology), which
// series of them are read (what the signatures read, nothing else), the value of
// a feature's reading for a candidate root, which of the job's GPUs and ranks are
// affected, and which entities are over them. It never weighs: that is explain's
// work; and it never looks at an entity that no edge leads to.
package symptom
