// Package kube puts a simulated site's Kubernetes on the wire: the API server
// with its pods, Jobs, JobSets and Workloads, by list and by watch: a job is a
// JobSet that Kueue has admitted.
//
// It owns the form of what it answers, how long it remembers what has changed,
// and that a kubelet tells of whole seconds. It must never know who asks.
package kube
