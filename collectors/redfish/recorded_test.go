package redfish

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// TestRecordedResources: what the mapping makes of recorded resources. The source is
// the entity of the service and the path of the resource.
func TestRecordedResources(t *testing.T) {
	m := standardMapping(t)
	collectorstest.Recorded(t, "testdata/mapping", func(t *testing.T, source, input string) []string {
		self, path, _ := strings.Cut(source, " ")
		return says(t, m, self, map[string]string{path: input})
	})
}
