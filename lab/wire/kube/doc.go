// Package kube puts a simulated site's Kubernetes on the wire: the API server
// with its pods, by list and by watch, of jobs that are JobSets admitted by
// Kueue.
//
// It owns the form of what it answers, how long it remembers what has changed,
// and that a kubelet tells of whole seconds. It must never know who asks.
package kube
