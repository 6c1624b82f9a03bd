// Package alertmanager pushes incidents to Prometheus' Alertmanager by its API
// v2, as Prometheus does: to every peer, and again and again while they are open.
//
// It owns labels, annotations and when an alert ends by itself. An alert is known
// by its labels: when a revision changes them, the alert of before is ended in
// the same request. A revision gives the same alert in every attempt but for
// endsAt, which is always some minutes ahead.
package alertmanager
