package bus_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/broker"
)

// TestTrailKeepsOrder: a web process writes and reads the audit log.
func TestTrailKeepsOrder(t *testing.T) {
	s, _ := site(t)
	trail := join(t, s, broker.Web).Trail()
	for i := range 5 {
		if err := trail.Keep(t.Context(), fmt.Appendf(nil, "change %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	read := func(before uint64, limit int) []string {
		got = nil
		if err := trail.Recent(t.Context(), before, limit, func(n uint64, data []byte) error {
			got = append(got, fmt.Sprintf("%d %s", n, data))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if want := []string{"5 change 4", "4 change 3"}; !slices.Equal(read(0, 2), want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"2 change 1", "1 change 0"}; !slices.Equal(read(3, 9), want) {
		t.Errorf("%q, want %q", got, want)
	}
}
