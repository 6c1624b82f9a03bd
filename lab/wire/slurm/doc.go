// Package slurm puts a simulated site's scheduler and the logs of its trainers
// on the wire: slurmrestd over HTTP with JSON web tokens, and for each job a log
// as Megatron-LM or TorchTitan write it.
//
// It owns the form of both and how they round. It must never know who reads
// them.
package slurm
