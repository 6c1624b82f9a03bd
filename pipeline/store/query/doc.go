// Package query answers questions about the history as Prometheus does: its
// query API, with our catalogue in the place of what targets say of their
// metrics, and its rule manager.
//
// It owns how long a question may take and how much it may read. It writes
// nothing but what rules record.
package query
