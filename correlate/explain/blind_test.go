package explain_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestTheNetworkWaitsForItsPaths: a port that was not read since the degradation began may be
// where the waiting passes through, until it is overdue.
func TestTheNetworkWaitsForItsPaths(t *testing.T) {
	s := slowReceiver(t)
	s.before("port:spine0/l1").Cadence, s.now("port:spine0/l1").Seen = 10, 0
	for _, c := range []struct {
		domain telemetry.Domain
		at     float64
		want   bool
	}{{telemetry.Network, 75, true}, {telemetry.Network, 82, false}, {telemetry.Software, 75, false}} {
		a := &explain.Answer{Entity: entity("nic:h7/n0"), Signature: &explain.Signature{Domain: c.domain}}
		if got := s.e.PathsUnread(a, at(c.at)); got != c.want {
			t.Errorf("%s at %v s: %v", c.domain, c.at, got)
		}
	}
	s.now("port:spine0/l1").Seen = 1
	if s.e.PathsUnread(&explain.Answer{Signature: &explain.Signature{Domain: telemetry.Network}}, at(75)) {
		t.Error("all were read")
	}
}
