package redfish

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/weigh"
)

// A management controller that answers with a page of empty objects takes little more
// memory than the page has bytes.
func TestParseRefusesHeavyPages(t *testing.T) {
	page := []byte(`{"Members":[` + strings.Repeat(`{},`, maxBody/3-10) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := parse(page)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, weigh.ErrHeavy) || n > 1<<20 {
		t.Errorf("%v, %d bytes allocated for %d", err, n, len(page))
	}
	if _, err := parse([]byte(strings.Repeat(`{"a":`, 100))); !errors.Is(err, weigh.ErrDeep) {
		t.Errorf("nested: %v", err)
	}
}

// FuzzParse: what a page takes is bounded by its size.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"Members":[{"@odata.id":"/redfish/v1/Chassis/1"},{},[],1e3]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = parse(b)
		runtime.ReadMemStats(&after)
		if n, most := after.TotalAlloc-before.TotalAlloc, uint64(4*(weigh.Free+weigh.Growth*len(b))); n > most {
			t.Errorf("%d bytes took %d, at most %d", len(b), n, most)
		}
	})
}
