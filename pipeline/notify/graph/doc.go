// Package graph finds the entities above an entity: what contains, feeds and cools
// it, and what it runs on, from the engine's topology.
//
// It owns the walk upwards, its bounds and the cache of results. It must never
// block its callers: they get what is known now, and whether that is complete.
// Without an answer of the engine, only the containers that follow from names are
// returned.
package graph
