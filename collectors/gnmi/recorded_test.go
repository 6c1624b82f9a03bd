package gnmi

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// TestRecordedLeaves: what the profiles make of recorded updates. The source is the
// profile.
func TestRecordedLeaves(t *testing.T) {
	collectorstest.Recorded(t, "testdata/mapping", func(t *testing.T, source, input string) (out []string) {
		d := newDesk(t, source)
		d.tell(0, strings.Split(input, "\n")...)
		d.flush()
		for l := range strings.SplitSeq(d.tape.text(), "\n") {
			if l != "" && !strings.Contains(l, " contains ") {
				out = append(out, l)
			}
		}
		return out
	})
}
