package scrape

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// TestRecordedSeries: what the mappings of the program make of recorded pages.
func TestRecordedSeries(t *testing.T) {
	collectorstest.Recorded(t, "testdata/mapping", func(t *testing.T, source, input string) []string {
		labels := map[string]string{}
		for _, l := range strings.Fields(source) {
			name, value, _ := strings.Cut(l, "=")
			labels[name] = value
		}
		e := once(t, Config{}, labels, input+"\n")
		return strings.Split(strings.TrimSpace(e.golden()), "\n")
	})
}
