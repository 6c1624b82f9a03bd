package correlate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// silentJob reports no step: it computes for 3 s, then sends for 3 s. From 180 s
// on h2 takes half of what it is sent, so that sending takes 6 s.
const silentJob = `A job that reports nothing.

-- site --
seed 3
for 300s
fault 180s

-- edges --
nic:h{i=0..3}/nic0 connects port:tor/p{i} speed_bits_per_second=100e9
job:a runs node:h{i=0..3} rank={i}

-- load --
1s     nic:h{0..3}/nic0  port_{tx,rx}_bytes_total              0 (+0x3 +9e9~1%x3)x30 (+0x3 +4.5e9~1%x6)x*
1s     port:tor/p{0..3}  port_{tx,rx}_bytes_total              0 (+0x3 +9e9~1%x3)x30 (+0x3 +4.5e9~1%x6)x*
1s     nic:h{0..3}/nic0  port_pfc_{tx,rx}_pause_seconds_total  0x*
1s     port:tor/p{0..3}  port_{pfc_tx_pause_seconds_total,pfc_rx_pause_seconds_total,queue_bytes} 0x*
but 1s nic:h2/nic0       port_pfc_tx_pause_seconds_total       0 +0x180 (+0x3 +0.5x6)x*
but 1s port:tor/p2       port_pfc_rx_pause_seconds_total       0 +0x180 (+0x3 +0.5x6)x*
but 1s port:tor/p2       port_queue_bytes                      0x181 (0x3 600e3~1%x6)x*
but 1s port:tor/p{0,1,3} port_pfc_tx_pause_seconds_total       0 +0x180 (+0x3 +0.45x6)x*
but 1s nic:h{0,1,3}/nic0 port_pfc_rx_pause_seconds_total       0 +0x180 (+0x3 +0.45x6)x*

-- want --
incident opened slow-receiver root=nic:h2/nic0 degrades=job:a
`

// TestStepsAreInferred: a job that reports nothing is seen to be slower all the
// same, and why.
func TestStepsAreInferred(t *testing.T) {
	found := false
	for _, in := range latest(published(t, silentJob)) {
		if in.Root.Entity != (telemetry.Entity{Kind: telemetry.NIC, Name: "h2/nic0"}) || in.Root.Signature != "slow-receiver" {
			t.Errorf("%s at %v: %s", in.Root.Signature, in.Root.Entity, in.Title)
			continue
		}
		found = true
		j := in.Impact.Jobs[0]
		if j.Before == nil || *j.Before < 5.8 || *j.Before > 6.2 || j.Slowdown == nil || *j.Slowdown < 1.35 || *j.Slowdown > 1.6 {
			t.Errorf("before %v, slowdown %v; want 6 s and 1.5", j.Before, j.Slowdown)
		}
	}
	if !found {
		t.Error("nothing was found")
	}
}

// flowingJob reports no step and sends in bursts without a rhythm; its NICs report
// only how much they send. From 600 s on it sends 0.6 of what it did.
const flowingJob = `A job that reports nothing and shows no period.

-- site --
seed 5
for 900s
fault 600s

-- edges --
nic:h{i=0..3}/nic0 connects port:tor/p{i} speed_bits_per_second=100e9
job:a runs node:h{i=0..3} rank={i}

-- load --
1s nic:h{0..3}/nic0 port_{tx,rx}_bytes_total 0 (+2e9~50%)x600 (+1.2e9~50%)x*
1s port:tor/p{0..3} port_{tx,rx}_bytes_total 0 (+2e9~50%)x600 (+1.2e9~50%)x*

-- want --
incident opened * degrades=job:a
`

// TestAJobWithoutARhythmIsWatched: equal amounts of its traffic are compared, and
// its steps are reported as not known.
func TestAJobWithoutARhythmIsWatched(t *testing.T) {
	all := latest(published(t, flowingJob))
	if len(all) != 1 {
		t.Fatalf("%d incidents, want one", len(all))
	}
	for _, in := range all {
		j := in.Impact.Jobs[0]
		if j.Slowdown == nil || *j.Slowdown < 1.5 || *j.Slowdown > 1.85 {
			t.Errorf("slowdown %v, want 1.67", j.Slowdown)
		}
		if !slices.ContainsFunc(in.BlindSpots, func(b explain.BlindSpot) bool { return b.Entity == j.Job && b.Metric == "job_step_seconds" }) {
			t.Errorf("nothing says that its steps are not known: %+v", in.BlindSpots)
		}
	}
}

// TestTrafficThatIsReadSeldomIsWatched: the counters are read every 18 s; what was sent
// in a grid is known when the next sample has come.
func TestTrafficThatIsReadSeldomIsWatched(t *testing.T) {
	seldom := strings.NewReplacer("\n1s ", "\n18s ", "(+2e9~50%)x600 (+1.2e9~50%)x*", "(+36e9~10%)x33 (+21.6e9~10%)x*").Replace(flowingJob)
	all := latest(published(t, seldom))
	if len(all) != 1 {
		t.Fatalf("%d incidents, want one", len(all))
	}
	for _, in := range all {
		if s := in.Impact.Jobs[0].Slowdown; s == nil || *s < 1.4 || *s > 1.9 {
			t.Errorf("slowdown %v, want 1.67", s)
		}
	}
}
