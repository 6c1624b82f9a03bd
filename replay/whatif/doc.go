// Package whatif asks of a training job's recorded operation timeline how long
// its steps would have taken without stragglers, and who made them long.
//
// It owns the timeline's format (Chrome trace events as trainers write them),
// the dependencies between a pipeline's operations, a simulator that plays them
// with other durations, and the verdict. The method is that of Lin et al.,
// "Understanding Stragglers in Large Model Training Using What-if Analysis"
// (OSDI 2025, arXiv 2505.05713). It must never need a site's log: a timeline
// is independent.
package whatif
