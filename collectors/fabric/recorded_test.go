package fabric

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// TestRecordedCounters: what the profile makes of what perfquery printed. The source is
// the name of the switch.
func TestRecordedCounters(t *testing.T) {
	p, _, err := loadProfile("")
	if err != nil {
		t.Fatal(err)
	}
	known := fieldsOf(p)
	collectorstest.Recorded(t, "testdata/mapping", func(t *testing.T, source, input string) (out []string) {
		faults, err := ibdiag.ParseCounters([]byte(input), func(c *ibdiag.Counters) {
			for _, f := range c.Fields {
				i, ok := known[string(f.Name)]
				if !ok || p.Rules[i].Metric == "" {
					continue
				}
				w, why := p.Rules[i].quantity.Word(mapping.UintNumber(f.Value))
				if why != "" {
					out = append(out, fmt.Sprintf("port:%s/%d %s %s", source, c.Port, p.Rules[i].Metric, why))
					continue
				}
				out = append(out, fmt.Sprintf("port:%s/%d %s %d", source, c.Port, p.Rules[i].Metric, w))
			}
		})
		if err != nil || faults.Count > 0 {
			t.Fatal(err, faults)
		}
		return out
	})
}
