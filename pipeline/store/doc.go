// Package store is the history: an embedded Prometheus TSDB that is fed from the
// site's log, and the query API over it.
//
// It owns how the log is thinned (of each series the newest value of each cadence),
// how many series there may be, what is written when a series goes stale, and how
// far the log has been read. It concludes nothing and changes nothing in the log.
// The labels of a series are package label's, the API and the rules package
// query's.
//
// docs/history.md documents what users may rely on.
package store
