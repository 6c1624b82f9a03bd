package collectors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// One XID is one event, however many collectors of a process observe it.
func TestWhatSeveralSourcesStateIsSentOnce(t *testing.T) {
	kernel, library := &worker{}, &worker{}
	type step struct {
		by      *worker
		at      int // seconds
		gpu     int
		name    telemetry.EventName
		text    string
		emitted bool
	}
	const xid = telemetry.EventXID
	for name, steps := range map[string][]step{
		"the kernel's log comes first": {
			{kernel, 0, 3, xid, "79, GPU has fallen off the bus.", true},
			{library, 1, 3, xid, "79", false},
		},
		"the library comes first": {
			{library, 2, 3, xid, "79", true},
			{kernel, 0, 3, xid, "79, GPU has fallen off the bus.", false},
		},
		"who speaks may repeat itself": {
			{kernel, 0, 3, xid, "13, Graphics Exception", true},
			{kernel, 1, 3, xid, "13, Graphics Exception", true},
			{library, 2, 3, xid, "13", false},
			{kernel, 60, 3, xid, "13, Graphics Exception (4 more within 1m0s)", true},
			{library, 100, 3, xid, "13", false},
		},
		"another code, another GPU, another event": {
			{kernel, 0, 3, xid, "79, GPU has fallen off the bus.", true},
			{library, 0, 3, xid, "7", true},
			{library, 0, 3, xid, "154", true},
			{library, 0, 4, xid, "79", true},
			{library, 0, 3, telemetry.EventLinkDown, "79", true},
		},
		"a witness that has fallen silent is replaced": {
			{kernel, 0, 3, xid, "63, row remapped", true},
			{library, 80, 3, xid, "63", true},
			{kernel, 81, 3, xid, "63, row remapped", false},
		},
		"an event without a code": {
			{kernel, 0, 3, xid, "unreadable", true},
			{library, 0, 3, xid, "", true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := speakers{spoken: map[topic]spoken{}}
			for i, x := range steps {
				e := &telemetry.Event{Entity: telemetry.Entity{Kind: telemetry.GPU, Name: fmt.Sprintf("n1/%d", x.gpu)}, Name: x.name, Text: x.text,
					At: telemetry.Time(1e18).Add(telemetry.Duration(x.at) * telemetry.Duration(time.Second))}
				if got := s.mayEmit(x.by, e); got != x.emitted {
					t.Errorf("step %d: %q is emitted: %v, want %v", i, x.text, got, x.emitted)
				}
			}
		})
	}
}

func TestWhoSpokeIsRememberedWithinBounds(t *testing.T) {
	s, w := speakers{spoken: map[topic]spoken{}}, &worker{}
	for i := range 3 * maxSpoken {
		e := &telemetry.Event{Entity: telemetry.Entity{Kind: telemetry.GPU, Name: strings.Repeat("n", 3) + fmt.Sprint(i)}, Name: telemetry.EventXID, Text: "79", At: telemetry.Time(i) * 1e9}
		if !s.mayEmit(w, e) {
			t.Fatalf("event %d is not emitted", i)
		}
	}
	if len(s.spoken) > maxSpoken {
		t.Errorf("%d remembered", len(s.spoken))
	}
}
