// Package scrape collects pages of metrics in the text forms of Prometheus and
// OpenMetrics: those of dcgm-exporter, node_exporter, UFM, serving engines and any
// other exporter.
//
// It owns which targets are asked, how often and within what bounds, and how a page
// is read. It must never know a vendor: the mapping files of package mapping define
// what a name means.
//
// A page is read as far as it can be: an invalid line is counted and skipped. Whole
// numbers are read from the text, because a float cannot represent every counter
// beyond 2^53. A response that stalls or has no end is cut at a limit.
package scrape
