// Package frames converts Quintet's responses to Grafana data frames: tables,
// annotations, node graphs, series, numbers for alerting. It owns the names, units,
// colours and links of their fields. It is pure: its output follows from its
// arguments, and it sends no requests.
package frames
