// Package export writes a recording as Parquet, for other programs.
//
// It owns the columns of the three tables (docs/format-parquet.md): samples,
// events, edges. It must never judge a record, fill a gap, or keep more of a
// recording than the row group it is writing.
package export
