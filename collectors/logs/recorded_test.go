package logs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// TestRecordedMessages: what the patterns make of recorded lines. The source is the
// host; every pattern has a line in TestLines.
func TestRecordedMessages(t *testing.T) {
	c, err := New(sampleConfig(), dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	names := newNames(&c.cfg, time.Now)
	collectorstest.Recorded(t, "testdata/mapping", func(t *testing.T, source, input string) (out []string) {
		for raw := range strings.SplitSeq(input, "\n") {
			l, ok := (scope{time.Unix(1_800_000_000, 0), time.UTC}).decode(formAuto, raw)
			if !ok {
				t.Fatalf("%q: malformed", raw)
			}
			if l.host == "" {
				l.host = source
			}
			if f := c.library.find(&l); f.pattern != nil {
				h, _ := f.event(names)
				out = append(out, fmt.Sprintf("%s %s %s", h.event.Entity, h.event.Name, h.event.Text))
			}
		}
		return out
	})
}
