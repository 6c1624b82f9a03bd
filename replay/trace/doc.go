// Package trace is the .qtrace file: a recorded log in one file, as
// docs/format-trace.md draws it.
//
// It owns the file's bytes: header, snapshot, blocks of records, context,
// index. It never looks into what a record means, except to know which records
// a reader needs who begins in the middle (schemas, config, edges); it never
// trusts a length it has not checked against the file, and it never gives a
// record that a checksum does not cover.
//
// A file is written in order and is readable while it is written: every block
// is self-contained. What a cut, a flipped bit or a hostile writer can do is
// bounded by a block, and is reported with the block's number and offset.
package trace
