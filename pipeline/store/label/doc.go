// Package label gives the log's series their names in the history: labels in
// the place of an entity, and the entity back from the labels.
//
// It owns that convention (docs/history.md) and nothing else: it stores, reads
// and asks nothing.
package label
