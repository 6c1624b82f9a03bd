package correlate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/correlatetest"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/scenario"
	"github.com/quintet-dc/quintet/telemetry"
)

// risky are signatures of risks that read one thing each.
func risky(t *testing.T) []explain.Signature {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	sign := func(name string, root telemetry.Kind, r explain.Reading, none, full float64) explain.Signature {
		if r.Take == "" {
			r.Take = explain.TakeNow
		}
		r.Of = explain.OfRoot
		s := explain.Signature{Name: name, Domain: telemetry.Power, Expect: explain.ExpectRisk, Roots: []telemetry.Kind{root}, Prior: -2,
			Sentence: name + " at {root}.", Actions: []explain.ActionTemplate{{Kind: "call", Target: "root", Text: "Look at {root}."}},
			Features: []explain.Feature{{Name: name, Reading: &r, None: none, Full: full, For: 4, Against: -6, Required: true, Why: "{value}"}}}
		return s
	}
	wet := sign("leak", telemetry.Loop, explain.Reading{Metric: "leak_detected"}, 0, 1)
	wet.RiskSeverity = explain.SeverityCritical
	return append(slices.DeleteFunc(set.Signatures, func(s explain.Signature) bool { return s.Expect == explain.ExpectRisk }),
		wet,
		sign("feed-loss", telemetry.Feed, explain.Reading{Metric: "feed_up"}, 1, 0),
		sign("ber-drift", telemetry.Port, explain.Reading{Metric: "port_pre_fec_ber", Take: explain.TakeRatio}, 1.2, 2),
		sign("sm-failover", telemetry.SM, explain.Reading{Event: "sm_master_changed"}, 0, 1))
}

// play runs a scenario's records through an engine and returns what it
// published.
func play(t *testing.T, text string) (*correlate.Engine, []explain.Incident) {
	t.Helper()
	e := riskEngine(t)
	var out []explain.Incident
	for _, r := range records(t, text) {
		out = append(out, slices.Clone(e.Step(r).Incidents)...)
	}
	return e, out
}

func riskEngine(t *testing.T) *correlate.Engine {
	t.Helper()
	e, err := correlate.New(correlate.Config{Signatures: risky(t)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func records(t *testing.T, text string) []*telemetry.Record {
	t.Helper()
	s, err := scenario.Parse("risk", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Records()
}

// history formats revisions in short: "open leak loop:r0/a warning".
func history(all []explain.Incident) []string {
	out := []string{}
	for _, in := range all {
		line := strings.Join([]string{in.State, in.Kind, in.Root.Signature, in.Root.Entity.String(), in.Severity}, " ")
		if in.Resolution != nil {
			line += " (" + *in.Resolution + ")"
		}
		out = append(out, line)
	}
	return out
}

func wantHistory(t *testing.T, all []explain.Incident, want ...string) {
	t.Helper()
	if got := history(all); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const leaking = `A loop leaks for a minute and a half; its pump and its job go on.
-- site --
for 290s
-- edges --
rack:r0 contains loop:r0/a
loop:r0/a cools node:h{0..1}
job:train runs node:h{i=0..1} rank={i}
-- load --
10s loop:r0/a leak_detected 0x9 1x9 0x*
-- steps --
job:train job_step_seconds 3~1%x*
-- events --
289s job_ended job:train
-- want --
no incident
`

// TestALeakIsACriticalRiskWhileItLasts: it is reported within two grids of being
// seen, once, with the job that depends on it, and is over a minute after.
func TestALeakIsACriticalRiskWhileItLasts(t *testing.T) {
	_, all := play(t, leaking)
	wantHistory(t, all, "open risk leak loop:r0/a critical", "resolved risk leak loop:r0/a critical (recovered)")
	if len(all) != 2 {
		return
	}
	first, last := all[0], all[1]
	if first.ID != last.ID || last.Revision != 2 {
		t.Errorf("ids %s, %s, revision %d", first.ID, last.ID, last.Revision)
	}

	if d := first.Opened.Sub(first.Onset.Latest); d < 0 || d > 5e9 {
		t.Errorf("opened %v after it was seen first", d)
	}
	if !strings.HasPrefix(first.Title, "train is at risk since ") || !strings.Contains(first.Title, "leak at loop r0/a.") {
		t.Errorf("title %q", first.Title)
	}
	if len(first.Impact.Jobs) != 0 || len(first.Impact.Entities) != 2 || len(first.Chain) != 1 || len(first.Actions) != 1 {
		t.Errorf("impact %+v, chain %+v, actions %+v", first.Impact, first.Chain, first.Actions)
	}
	if d := last.Resolved.Sub(first.Opened); d < 80e9 || d > 190e9 {
		t.Errorf("it lasted %v", d)
	}
}

// TestALoopOfGPUsThreatensTheirJob: at a site that states of each GPU which loop cools it.
func TestALoopOfGPUsThreatensTheirJob(t *testing.T) {
	_, hosts := play(t, leaking)
	_, gpus := play(t, strings.Replace(leaking, "loop:r0/a cools node:h{0..1}", "loop:r0/a cools gpu:h{0..1}/{0..3}", 1))
	if len(hosts) == 0 || len(gpus) != len(hosts) || gpus[0].Title != hosts[0].Title {
		t.Errorf("%d incidents, %d where GPUs are stated: %q, want %q", len(hosts), len(gpus), gpus[0].Title, hosts[0].Title)
	}
}

// TestAnOnsetIsAsWideAsItsClockIsOff: what is received three seconds after its own
// time may have begun that much later, and what is received before it that much
// earlier.
func TestAnOnsetIsAsWideAsItsClockIsOff(t *testing.T) {
	onset := func(late telemetry.Duration) telemetry.Interval {
		t.Helper()
		e := riskEngine(t)
		var log []telemetry.Record
		for _, r := range records(t, leaking) {
			log = append(log, *r)
		}
		log, err := correlatetest.Kit{}.ReceiveAfter(log, late)
		if err != nil {
			t.Fatal(err)
		}
		for i := range log {
			if told := e.Step(&log[i]).Incidents; len(told) > 0 {
				return told[0].Onset
			}
		}
		t.Fatal("nothing was told")
		return telemetry.Interval{}
	}
	const off = telemetry.Duration(15e8)
	usual, behind, ahead := onset(0), onset(off), onset(-off)
	if behind != (telemetry.Interval{Earliest: usual.Earliest, Latest: usual.Latest.Add(off)}) {
		t.Errorf("behind: %v, usually %v", behind, usual)
	}
	if ahead != (telemetry.Interval{Earliest: usual.Earliest.Add(-off), Latest: usual.Latest}) {
		t.Errorf("ahead: %v, usually %v", ahead, usual)
	}
}

// TestOneLostFeedIsOneRisk: what it feeds goes dark with it, and is seen first. Until
// the feed itself has reported it may be the root as well as the first of its parts:
// one risk is reported at once, half as sure, and goes on at the feed.
func TestOneLostFeedIsOneRisk(t *testing.T) {
	_, all := play(t, `
-- site --
for 200s
-- edges --
feed:a feeds feed:a/low{0..1}
-- load --
10s feed:a          feed_up class=slow 1x10 0x*
5s  feed:a/low{0..1} feed_up            1x18 0x*
-- want --
no incident
`)
	wantHistory(t, all, "open risk feed-loss feed:a/low0 warning", "open risk feed-loss feed:a warning")
	if all[0].ID != all[1].ID || all[0].Root.Confidence > 0.6*all[1].Root.Confidence {
		t.Errorf("first %s at %.2f, then %s at %.2f", all[0].ID, all[0].Root.Confidence, all[1].ID, all[1].Root.Confidence)
	}
}

// TestALeakThatWasThereBeforeIsOne: an engine that starts cold has no before.
func TestALeakThatWasThereBeforeIsOne(t *testing.T) {
	_, all := play(t, "-- site --\nfor 60s\n-- load --\n10s loop:r0/a leak_detected 1x*\n-- want --\nno incident\n")
	wantHistory(t, all, "open risk leak loop:r0/a critical")
	if len(all) == 1 && !strings.HasPrefix(all[0].Title, "No job is degraded or at risk, but since ") {
		t.Errorf("title %q", all[0].Title)
	}
}

// TestAnEventIsARiskForAWhile: and a second one within it is the same.
func TestAnEventIsARiskForAWhile(t *testing.T) {
	_, all := play(t, `
-- site --
for 500s
-- load --
1s nic:h0/nic0 port_tx_bytes_total 0 +1x*
-- events --
60s  sm_master_changed sm:fab0 from a to b
100s sm_master_changed sm:fab0 from b to a
-- want --
no incident
`)
	wantHistory(t, all, "open risk sm-failover sm:fab0 warning", "resolved risk sm-failover sm:fab0 warning (recovered)")
}

// TestWhatIsBadForAMomentIsNoRisk: one sample of a second.
func TestWhatIsBadForAMomentIsNoRisk(t *testing.T) {
	_, all := play(t, "-- site --\nfor 60s\n-- load --\n1s loop:r0/a leak_detected 0x20 1 0x*\n-- want --\nno incident\n")
	wantHistory(t, all)
}

// TestALinkThatWearsOutIsARisk: a decade in ten minutes.
func TestALinkThatWearsOutIsARisk(t *testing.T) {
	_, all := play(t, `
-- site --
for 1200s
-- load --
1s port:leaf0/p0 port_pre_fec_ber 1e-6~10%x600 (1.2e-6~5%x60 1.7e-6~5%x60 2.4e-6~5%x60 3.4e-6~5%x60 4.8e-6~5%x60 6.8e-6~5%x60 9e-6~5%x60 12e-6~5%x60 17e-6~5%x60 24e-6~5%x60)
-- want --
no incident
`)
	wantHistory(t, all, "open risk ber-drift port:leaf0/p0 warning")
}

// TestARiskThatDegradesAJobIsItsIncident: a nic stops all traffic a minute after the
// loop of its host began to leak: the leak is its own trouble. Where the risk is at
// the root itself, the incident goes on under its name.
func TestARiskThatDegradesAJobIsItsIncident(t *testing.T) {
	story := strings.Replace(storms(200, 90), "-- load --", "-- load --\n5s port:tor/p2 port_pre_fec_ber 1e-6x*\n", 1)
	story = strings.Replace(story, "-- want --", "-- events --\n80s sm_master_changed nic:h2/nic0\n-- want --", 1)
	e, err := correlate.New(correlate.Config{Signatures: func() []explain.Signature {
		all := risky(t)
		all[len(all)-1].Roots = []telemetry.Kind{telemetry.NIC}
		return all
	}()})
	if err != nil {
		t.Fatal(err)
	}
	var all []explain.Incident
	for _, r := range records(t, story) {
		all = append(all, slices.Clone(e.Step(r).Incidents)...)
	}
	if len(all) == 0 || all[0].Kind != explain.KindRisk {
		t.Fatalf("got %q", history(all))
	}
	var became bool
	for _, in := range all {
		became = became || in.ID == all[0].ID && in.Kind == explain.KindIncident && in.Root.Signature == "pfc-storm" && len(in.Impact.Jobs) > 0
	}
	if !became {
		t.Errorf("the risk %s did not become the incident: %q", all[0].ID, history(all))
	}
}

// survivesRestarts plays a text, once as it is and once for each of so many instants at
// which the engine is restarted from a snapshot, and compares what it published.
func survivesRestarts(t *testing.T, text string, parts int) {
	t.Helper()
	_, want := play(t, text)
	log := records(t, text)
	for part := 1; part < parts; part++ {
		at := part * len(log) / parts
		e := riskEngine(t)
		var got []explain.Incident
		for i, r := range log {
			if i == at {
				again := riskEngine(t)
				var state []byte
				e.Snapshot(func(b []byte) { state = append(state, b...) })
				if err := again.Restore(state); err != nil {
					t.Fatal(err)
				}
				e = again
			}
			got = append(got, slices.Clone(e.Step(r).Incidents)...)
		}
		if !slices.Equal(history(got), history(want)) || got[0].ID != want[0].ID {
			t.Errorf("at %d: %q", at, history(got))
		}
	}
}

// TestARiskOutlivesARestart: a snapshot at any second changes nothing.
func TestARiskOutlivesARestart(t *testing.T) {
	survivesRestarts(t, leaking, 6)
}

// TestARiskIsInherited: an engine without a snapshot that receives a risk continues
// it under its name where it sees it, and ends it where it does not.
func TestARiskIsInherited(t *testing.T) {
	_, all := play(t, leaking)
	restored := all[0]
	for name, c := range map[string]struct{ load, want string }{
		"it lasts":   {"1x*", "open risk leak loop:r0/a critical"},
		"it is over": {"0x*", "resolved risk leak loop:r0/a critical (no data)"},
	} {
		t.Run(name, func(t *testing.T) {
			e := riskEngine(t)
			var got []explain.Incident
			for i, r := range records(t, "-- site --\nfor 1000s\n-- load --\n10s loop:r0/a leak_detected "+c.load+"\n-- want --\nno incident\n") {
				if i == 0 {
					e.WarmStart([]explain.Incident{restored})
				}
				got = append(got, slices.Clone(e.Step(r).Incidents)...)
			}
			live := e.Live()
			if name == "it lasts" {
				if len(got) != 0 && got[0].ID != restored.ID || len(live) != 1 || live[0].ID != restored.ID {
					t.Errorf("got %q, live %d", history(got), len(live))
				}
				return
			}
			wantHistory(t, got, c.want)
		})
	}
}

// TestARiskDoesNotWaitForARareReport: the feed is read every 100 s. What it feeds is
// reported at once, and is named as the root after half a minute.
func TestARiskDoesNotWaitForARareReport(t *testing.T) {
	_, all := play(t, `
-- site --
for 150s
-- edges --
feed:a feeds feed:a/low
-- load --
100s feed:a     feed_up class=slow 1x*
5s   feed:a/low feed_up            1x22 0x*
-- want --
no incident
`)
	wantHistory(t, all, "open risk feed-loss feed:a/low warning", "open risk feed-loss feed:a/low warning")
	if wait := all[0].Opened.Sub(all[0].Onset.Latest); wait > 5e9 {
		t.Errorf("opened %v after it was seen", wait)
	}
	if all[0].Root.Confidence > 0.6*all[1].Root.Confidence {
		t.Errorf("confidence %.2f, then %.2f", all[0].Root.Confidence, all[1].Root.Confidence)
	}
	if wait := all[1].Updated.Sub(all[0].Updated); wait < 20e9 || wait > 40e9 {
		t.Errorf("sure %v after it was opened", wait)
	}
}
