package collectorstest_test

import (
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// counting is a test that counts what fails.
type counting struct {
	testing.TB
	failed int
}

func (c *counting) Errorf(string, ...any) { c.failed++ }
func (c *counting) Helper()               {}

var kept []byte

// TestBoundedFindsWhatIsTooMuch: a decoder that allocates more than the multiple fails,
// one that allocates less does not.
func TestBoundedFindsWhatIsTooMuch(t *testing.T) {
	const input = 1 << 10
	for allocates, want := range map[int]int{collectorstest.BytesFree / 2: 0, collectorstest.BytesFree + 2*collectorstest.BytesPerByte*input: 1} {
		c := &counting{TB: t}
		end := collectorstest.Bounded(c, input)
		kept = make([]byte, allocates)
		end()
		if c.failed != want {
			t.Errorf("%d bytes allocated: %d failures, want %d", allocates, c.failed, want)
		}
	}
}
