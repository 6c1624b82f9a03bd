package correlate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/scenario"
	"github.com/quintet-dc/quintet/telemetry"
)

// storms is a switch with four hosts and two jobs. The nic of h2 sends pause frames
// for 30 s at each of the given seconds: nothing passes the switch then, and no job
// finishes a step.
func storms(seconds int, at ...int) string {
	pause, queue, idle, steps := "0", "0", "", ""
	now := 0
	for _, s := range at {
		calm := s - now
		pause += fmt.Sprintf(" +0x%d +1x30", calm)
		queue += fmt.Sprintf(" 0x%d 600e3~1%%x30", calm)
		idle += fmt.Sprintf(" (+0 +9e9~1%%x2)x%d +0x30", calm/3)
		steps += fmt.Sprintf(" 3~1%%x%d 33x1", calm/3-1)
		now = s + 30
	}
	rest := (seconds - now) / 3
	return fmt.Sprintf(`One nic stops everybody.

-- site --
seed 6
for %ds
fault %ds

-- edges --
nic:h{i=0..3}/nic0 connects port:tor/p{i} speed_bits_per_second=100e9
job:a runs node:h{i=0..1} rank={i}
job:b runs node:h{i=2..3} rank={i}

-- load --
1s     nic:h{0..3}/nic0  port_{tx,rx}_bytes_total              0%[3]s (+0 +9e9~1%%x2)x*
1s     port:tor/p{0..3}  port_{tx,rx}_bytes_total              0%[3]s (+0 +9e9~1%%x2)x*
1s     nic:h{0..3}/nic0  port_pfc_{tx,rx}_pause_seconds_total  0x*
1s     port:tor/p{0..3}  port_{pfc_tx_pause_seconds_total,pfc_rx_pause_seconds_total,queue_bytes} 0x*
but 1s nic:h2/nic0       port_pfc_tx_pause_seconds_total       %[4]s +0x*
but 1s port:tor/p2       port_pfc_rx_pause_seconds_total       %[4]s +0x*
but 1s port:tor/p2       port_queue_bytes                      %[5]s 0x*
but 1s port:tor/p{0,1,3} port_pfc_tx_pause_seconds_total       %[4]s +0x*
but 1s nic:h{0,1,3}/nic0 port_pfc_rx_pause_seconds_total       %[4]s +0x*

-- steps --
job:a  job_step_seconds  %[6]s 3~1%%x%[7]d
job:b  job_step_seconds  %[6]s 3~1%%x%[7]d

-- want --
incident opened pfc-storm root=nic:h2/nic0 degrades=job:a
`, seconds, at[0], idle, pause, queue, strings.TrimSpace(steps), rest)
}

// standard is an engine with the signatures that it comes with.
func standard(t *testing.T) *correlate.Engine {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	e, err := correlate.New(correlate.Config{Signatures: set.Signatures})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// published plays a scenario and returns every revision in order.
func published(t *testing.T, text string) []explain.Incident {
	t.Helper()
	s, err := scenario.Parse("storms", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e := standard(t)
	var out []explain.Incident
	for _, r := range s.Records() {
		out = append(out, e.Step(r).Incidents...)
	}
	return out
}

// latest keeps the newest revision of each incident.
func latest(revisions []explain.Incident) map[string]explain.Incident {
	out := map[string]explain.Incident{}
	for _, in := range revisions {
		out[in.ID] = in
	}
	return out
}

// TestOneRootThatDegradesTwoJobsIsOneIncident: whatever was opened at first, in the
// end one incident lists both jobs, and what was opened in addition is merged into
// it and lists none.
func TestOneRootThatDegradesTwoJobsIsOneIncident(t *testing.T) {
	told := 0
	all := latest(published(t, storms(200, 90)))
	for id, in := range all {
		switch {
		case in.Resolution != nil && *in.Resolution == "merged":
			if in.MergedInto == nil || all[*in.MergedInto].ID == "" || len(in.Impact.Jobs) != 0 {
				t.Errorf("%s: merged into %v, still tells of %d jobs", id, in.MergedInto, len(in.Impact.Jobs))
			}
		default:
			told++
			if len(in.Impact.Jobs) != 2 || in.Root.Entity != (telemetry.Entity{Kind: telemetry.NIC, Name: "h2/nic0"}) || in.Root.Signature != "pfc-storm" {
				t.Errorf("%s: %s at %v degrades %d jobs", id, in.Root.Signature, in.Root.Entity, len(in.Impact.Jobs))
			}
			if in.State != explain.StateResolved || *in.Resolution != "recovered" {
				t.Errorf("%s: %s, %v: both jobs were well again", id, in.State, in.Resolution)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d incidents tell of the storm, want 1", told)
	}
}

// TestTheSameTroubleWithinTenMinutesIsTheSameIncident: the storm comes back two
// minutes after it was over.
func TestTheSameTroubleWithinTenMinutesIsTheSameIncident(t *testing.T) {
	again := false
	for _, in := range latest(published(t, storms(360, 90, 240))) {
		if in.MergedInto == nil {
			again = again || in.Reopens == 1
			if in.Reopens == 0 {
				t.Errorf("%s opened at %v: a second incident of one trouble", in.ID, in.Opened)
			}
		}
	}
	if !again {
		t.Error("nothing was opened again")
	}
}

// TestRevisionsCountUp: every revision of an incident is one more than the last,
// and its id, opening and site do not change.
func TestRevisionsCountUp(t *testing.T) {
	last := map[string]explain.Incident{}
	for _, in := range published(t, storms(360, 90, 240)) {
		if was, ok := last[in.ID]; ok && (in.Revision != was.Revision+1 || in.Opened != was.Opened || in.Site != was.Site) {
			t.Errorf("%s: revision %d after %d, opened %v after %v", in.ID, in.Revision, was.Revision, in.Opened, was.Opened)
		}
		last[in.ID] = in
	}
	if len(last) == 0 {
		t.Error("no incident")
	}
}

// TestATickOfTheFarFutureIsRefused: it would cost the grids until then.
func TestATickOfTheFarFutureIsRefused(t *testing.T) {
	e, err := correlate.New(correlate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tick := func(at telemetry.Time) correlate.Counts {
		return e.Step(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}}).Counts
	}
	tick(1000e9)
	if c := tick(1 << 62); c.TicksFuture != 1 || c.Grids > 1000 {
		t.Errorf("a tick of the year 2116: %d refused, %d grids closed", c.TicksFuture, c.Grids)
	}
	if c := tick(1001e9); c.TicksFuture != 1 || c.TicksPast != 0 {
		t.Errorf("the next tick was refused, too: %+v", c)
	}
}
