// Package trainer reports the steps of a simulated site's jobs as their trainers
// would: by HTTP, rank by rank, and what their scheduler reports about them as events.
//
// It owns the reports' form. It must never hold a job up: what cannot be
// reported in time is dropped, as a trainer's reporter does.
package trainer
