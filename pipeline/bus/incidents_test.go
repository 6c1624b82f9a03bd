package bus_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// The first write of a revision is stored; a second one is compared with it.
func TestIncidents(t *testing.T) {
	t.Parallel()
	s, b := site(t)
	ctx := within(t, 20*time.Second)
	if first, last, err := b.IncidentBounds(ctx); first != 1 || last != 0 || err != nil {
		t.Errorf("no incidents: %d to %d, %v", first, last, err)
	}
	replica := join(t, s, broker.Engine)
	for _, c := range []struct {
		revision int
		data     string
		want     bus.Outcome
		held     string
	}{{1, "one", bus.Stored, ""}, {1, "one", bus.Same, "one"}, {1, "other", bus.Differs, "one"}, {2, "two", bus.Stored, ""}, {2, "", bus.Differs, "two"}} {
		got, held, err := replica.PublishIncident(ctx, "inc-5f1c02d9a1b7e340", c.revision, []byte(c.data))
		if got != c.want || string(held) != c.held || err != nil {
			t.Errorf("revision %d %q: %v, %q, %v; want %v, %q", c.revision, c.data, got, held, err, c.want, c.held)
		}
	}
	for i := range 5 {
		if _, _, err := replica.PublishIncident(ctx, fmt.Sprintf("inc.%d", i), 1, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	var got []bus.Revision
	reader := join(t, s, broker.Notify)
	err := reader.FollowIncidents(ctx, 1, func(r bus.Revision) error {
		if got = append(got, r); len(got) == 6 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if got[0].ID != "inc-5f1c02d9a1b7e340" || got[0].Number != 2 || string(got[0].Data) != "two" || got[0].Sequence != 2 || got[5].ID != "inc.4" {
		t.Errorf("revisions: %+v", got)
	}
	if first, last, err := reader.IncidentBounds(ctx); first != 1 || last != 7 || err != nil {
		t.Errorf("incidents: %d to %d, %v", first, last, err)
	}
}
