// Package scrape collects pages of metrics in the text forms of Prometheus and
// OpenMetrics: those of dcgm-exporter, node_exporter, UFM, serving engines and
// whoever else has one.
//
// It owns which targets are asked, how often and within what bounds, and how a
// page is read. It must never know a vendor: what a name means stands in the
// mapping files of package mapping.
//
// A page is read as far as it can be: a line that is none is counted and passed
// over. Whole numbers are read from the text, because a counter beyond 2^53 is
// not what a float says it is. Whoever stops in the middle, or has no end, is
// cut at a limit.
package scrape
