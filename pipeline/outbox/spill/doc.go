// Package spill keeps records on disk, in order, while the log is unreachable: a
// bounded number of segments in one directory, appended to at the end, read and
// removed at the beginning, thinned in place when they are too many.
//
// It owns the directory and its lock, the form of a segment, and which records are
// known to be stored in the log. It reads back what an earlier process left, up to
// where a kill cut it. It knows of records only which schema a frame needs.
//
// Written records survive a kill of the process at once. They survive a power cut
// when their segment is full or was ended properly: a segment is synced when it is
// closed, not before. A segment whose fsync failed is synced again when the spill
// is ended; what was removed or replaced does not come back.
package spill
