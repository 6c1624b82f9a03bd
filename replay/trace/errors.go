package trace

import (
	"fmt"
	"io"
)

// BlockError is damage found in the file: which block, at which offset, and
// what is wrong. Blocks count from 0 in the order of the file; the header is
// block -1.
type BlockError struct {
	Block  int
	Offset int64
	Err    error
}

// Error implements error.
func (e *BlockError) Error() string {
	if e.Block < 0 {
		return fmt.Sprintf("read trace: offset %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("read trace: block %d at offset %d: %v", e.Block, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *BlockError) Unwrap() error { return e.Err }

// CutError states that the file ends before its writer closed it: a writer was
// killed, a copy was broken off, or it is still being written. Everything
// before Offset was read. It wraps io.ErrUnexpectedEOF.
type CutError struct {
	Block  int   // the number of the block that is not whole or not there
	Offset int64 // where the last whole block ends
	Lost   int64 // bytes behind Offset, of which nothing could be used
}

// Error implements error.
func (e *CutError) Error() string {
	if e.Lost == 0 {
		return fmt.Sprintf("read trace: the file ends without its index after %d whole blocks (offset %d): not closed by its writer", e.Block, e.Offset)
	}
	return fmt.Sprintf("read trace: block %d at offset %d: cut off: the last %d bytes are lost", e.Block, e.Offset, e.Lost)
}

// Unwrap returns io.ErrUnexpectedEOF.
func (e *CutError) Unwrap() error { return io.ErrUnexpectedEOF }
