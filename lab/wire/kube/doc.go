// Package kube puts a simulated site's Kubernetes on the wire: the API server with
// its pods, Jobs, JobSets and Workloads, by list and by watch: a job is a JobSet
// that Kueue has admitted.
//
// It owns the form of what it answers, how long it remembers changes, and that a
// kubelet reports whole seconds. It must never know its client.
package kube
