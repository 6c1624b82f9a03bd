package correlate

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestALinkThatWentDownIsRemembered: the only event that shows it may be older than what the
// window holds, and a job that is slower because of it is judged for as long as it is.
func TestALinkThatWentDownIsRemembered(t *testing.T) {
	m := &memory{}
	link := telemetry.Entity{Kind: telemetry.Port, Name: "leaf0/u1"}
	down := telemetry.Time(1000e9)
	m.remember(&telemetry.Event{Entity: link, Name: telemetry.EventLinkDown, At: down})
	later := down.Add(2 * 3600e9)
	m.remember(&telemetry.Event{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "train"}, Name: telemetry.EventCheckpointEnded, At: later})
	if got := m.ofLinks(down.Add(-linkBefore), later)[link]; len(got) != 1 {
		t.Errorf("two hours later, %d events of the link are known, want 1", len(got))
	}
	for i := range 2 * keptEvents {
		m.remember(&telemetry.Event{Entity: link, Name: telemetry.EventLinkUp, At: later.Add(telemetry.Duration(i) * 1e9)})
	}
	if len(m.recent) > keptEvents {
		t.Errorf("%d events are kept, want %d at most", len(m.recent), keptEvents)
	}
}
