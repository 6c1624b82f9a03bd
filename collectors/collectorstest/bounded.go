package collectorstest

import (
	"runtime/metrics"
	"testing"
)

// What a decoder may allocate: for each byte that it is given, and in any case (what a
// test itself sets up is in it).
const (
	BytesPerByte = 256
	BytesFree    = 2 << 20
)

// Bounded fails a test where more is allocated, until the function is called that it
// returns, than BytesFree and BytesPerByte for each of so many bytes of input. It counts
// what the whole process allocates.
//
//	defer collectorstest.Bounded(t, len(input))()
func Bounded(t testing.TB, input int) func() {
	t.Helper()
	before := Allocated()
	return func() {
		t.Helper()
		if n, most := Allocated()-before, uint64(BytesFree+BytesPerByte*input); n > most {
			t.Errorf("%d bytes of input: %d bytes allocated, more than %d", input, n, most)
		}
	}
}

// Allocated is what the process has allocated so far, without stopping it.
func Allocated() uint64 {
	sample := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}
