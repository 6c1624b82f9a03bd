// Package query answers questions about the history as Prometheus does: its query
// API, with the catalogue in place of the targets' metadata, and its rule manager.
//
// It owns how long a question may take and how much it may read. It writes nothing
// but what rules record.
package query
