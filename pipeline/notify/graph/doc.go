// Package graph knows what stands above an entity: what contains, feeds and
// cools it, and what it runs on, as the engine's topology has it.
//
// It owns the walk upwards, its bounds and the memory of what was found. It must
// never hold anybody up: who asks gets what is known now, and whether that is
// all. Beside an engine that does not answer, names alone tell what contains
// what.
package graph
