// Package site builds a site of any size, from 16 GPUs to the reference's
// 16,384: what it consists of, how it is cabled, and what powers and cools what,
// as entities and edges of package telemetry.
//
// It owns the shape of a site and the numbering of its parts: devices, links
// and racks are dense integers, from which the names follow. Nothing of it is
// drawn by chance. It knows no load, no state and no fault.
package site
