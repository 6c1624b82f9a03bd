// Package frames makes Grafana's data frames from what Quintet answers: tables,
// annotations, node graphs, series, numbers for alerting. It owns the names,
// units, colours and links of their fields. It is pure: what it makes follows
// from what it is given, and it asks nobody.
package frames
