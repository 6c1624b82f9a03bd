// Package spill keeps records on disk, in order, while the log is away: a bounded
// number of segments in one directory, appended to at the end, read and removed
// at the beginning, thinned in place when they are too many.
//
// It owns the directory and its lock, the form of a segment, and what is known
// to be stored elsewhere. It reads back what an earlier process left, up to where
// a kill cut it. It knows of records only which schema a frame needs.
//
// What was written survives a kill of the process at once. It survives a power
// cut when its segment is full or was ended properly: a segment is synced when it
// is closed, not before. What an fsync refused is synced again when the spill is
// ended; what was removed or replaced does not come back.
package spill
