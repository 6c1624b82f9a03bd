package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// revisions reads what was published.
func revisions(t *testing.T, published string) []explain.Incident {
	t.Helper()
	var out []explain.Incident
	for line := range strings.Lines(published) {
		var in explain.Incident
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatal(err)
		}
		out = append(out, in)
	}
	return out
}

// newest keeps the newest revision of each incident.
func newest(all []explain.Incident) []explain.Incident {
	var out []explain.Incident
	for _, in := range all {
		out = append(slices.DeleteFunc(out, func(o explain.Incident) bool { return o.ID == in.ID }), in)
	}
	return out
}

func claimRecord(t *testing.T, c engine.Claim) telemetry.Record {
	t.Helper()
	if c.Engine == "" {
		set, err := rules.Standard()
		if err != nil {
			t.Fatal(err)
		}
		c.Engine, c.Rules = correlate.Version, set.Digest
	}
	config, err := c.Config(0)
	if err != nil {
		t.Fatal(err)
	}
	return telemetry.Record{Kind: telemetry.ConfigRecord, Config: config}
}

// relieved is an engine that starts cold at record from, with the statements
// that sources repeat, and reads on silently until record n, where it claims and
// goes on with what the reference had published by then.
type relieved struct {
	log       []telemetry.Record // what it reads
	claim     int                // index of the claim in log
	open      []explain.Incident
	silent    string
	published string
	runner    *engine.Runner
}

func (ref reference) relieve(t *testing.T, from, n int) relieved {
	t.Helper()
	first, err := enginetest.Play(ref.Log[:n], 1)
	if err != nil {
		t.Fatal(err)
	}
	r := relieved{open: newest(revisions(t, first.Published))}
	for _, rec := range ref.Log[:from] {
		if rec.Kind == telemetry.SchemaRecord || rec.Kind == telemetry.EdgeRecord || rec.Kind == telemetry.ConfigRecord {
			r.log = append(r.log, rec)
		}
	}
	r.log = append(r.log, ref.Log[from:n]...)
	r.claim = len(r.log)
	r.log = append(append(r.log, claimRecord(t, engine.Claim{Incidents: r.open})), ref.Log[n:]...)
	before, err := enginetest.Play(r.log[:r.claim], 1)
	if err != nil {
		t.Fatal(err)
	}
	after, err := enginetest.Continue(before.Runner, r.log[r.claim:])
	if err != nil {
		t.Fatal(err)
	}
	r.silent, r.published, r.runner = before.Published, after.Published, after.Runner
	return r
}

// part returns the index of the record at which the log has come so far.
func (ref reference) part(x float64) int { return int(x * float64(len(ref.Log))) }

// goesOnAs wants one incident, the restored one: its id, its opening, its root,
// numbers that count on, and the given resolution in the end.
func (r relieved) goesOnAs(t *testing.T, resolution string) {
	t.Helper()
	if len(r.open) != 1 || r.open[0].State != explain.StateOpen {
		t.Fatalf("%d incidents restored: the test wants an open one", len(r.open))
	}
	last := r.open[0]
	all := revisions(t, r.published)
	if len(all) == 0 {
		t.Fatal("nothing was published")
	}
	for _, in := range all {
		if in.ID != last.ID || in.Revision != last.Revision+1 || in.Opened != last.Opened || in.Root.Entity != last.Root.Entity || in.Root.Signature != last.Root.Signature {
			t.Errorf("%s.%d of %v: %s at %v; follows %s.%d of %v: %s at %v", in.ID, in.Revision, in.Opened, in.Root.Signature, in.Root.Entity,
				last.ID, last.Revision, last.Opened, last.Root.Signature, last.Root.Entity)
		}
		if in.Updated < last.Updated {
			t.Errorf("revision %d is of %v, its predecessor of %v", in.Revision, in.Updated, last.Updated)
		}
		last = in
	}
	if last.State != explain.StateResolved || last.Resolution == nil || *last.Resolution != resolution || last.Resolved == nil {
		t.Errorf("ends %s, %v: want resolved, %s", last.State, last.Resolution, resolution)
	}
	if live := r.runner.Live(); len(live) > 0 {
		t.Errorf("%d incidents live in the end", len(live))
	}
}

// TestI5AColdEngineGoesOnWithWhatIsHeld: it saw the trouble begin, and what it
// found out for itself goes on under the published name and number.
func TestI5AColdEngineGoesOnWithWhatIsHeld(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r := ref.relieve(t, ref.part(0.1), ref.part(0.6))
		if r.silent == "" {
			t.Fatal("it did not see the trouble begin")
		}
		r.goesOnAs(t, "recovered")
	})
}

// TestI5AnEngineThatSawOnlyTheTroubleKeepsTheExplanation: it starts when all
// steps are slow already, so to itself they are usual.
func TestI5AnEngineThatSawOnlyTheTroubleKeepsTheExplanation(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r := ref.relieve(t, ref.part(0.5), ref.part(0.65))
		if r.silent != "" {
			t.Fatalf("it opened an incident of its own: %.300s", r.silent)
		}
		r.goesOnAs(t, "recovered")
		last := newest(revisions(t, r.published))[0]
		whole := newest(revisions(t, ref.Published))[0]
		got, want := last.Impact.Jobs[0].GPUSecondsLost, whole.Impact.Jobs[0].GPUSecondsLost
		if got < 0.8*want || got > 1.2*want {
			t.Errorf("%.0f GPU-seconds lost, an engine that saw all says %.0f", got, want)
		}
		if !slices.EqualFunc(last.Chain, r.open[0].Chain, func(a, b explain.Link) bool { return a.Entity == b.Entity && a.Why == b.Why }) {
			t.Error("the chain is not the published one")
		}
	})
}

// TestI5WhatEndedUnseenIsResolved: the job was well again before anybody looked.
func TestI5WhatEndedUnseenIsResolved(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		from, n := ref.part(0.85), ref.part(0.95)
		open, err := enginetest.Play(ref.Log[:ref.part(0.6)], 1)
		if err != nil {
			t.Fatal(err)
		}
		r := ref.relieve(t, from, n)
		r.open = newest(revisions(t, open.Published))
		r.log[r.claim] = claimRecord(t, engine.Claim{Incidents: r.open})
		played, err := enginetest.Play(r.log, 1)
		if err != nil {
			t.Fatal(err)
		}
		r.published, r.runner = played.Published, played.Runner
		r.goesOnAs(t, "recovered unseen")
	})
}

// TestI5TheInheritedIsPartOfSnapshots cuts after the claim, too.
func TestI5TheInheritedIsPartOfSnapshots(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		for _, from := range []float64{0.1, 0.5} {
			r := ref.relieve(t, ref.part(from), ref.part(0.65))
			for _, after := range []int{1, 2, 5, 40, 400, (len(r.log) - r.claim) / 2} {
				first, err := enginetest.Play(r.log[:r.claim+after], 1)
				if err != nil {
					t.Fatal(err)
				}
				snapshot, err := first.Runner.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				again, err := enginetest.NewRunner(1)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := again.Restore(snapshot); err != nil {
					t.Fatal(err)
				}
				rest, err := enginetest.Continue(again, r.log[r.claim+after:])
				if err != nil {
					t.Fatal(err)
				}
				if diff := enginetest.Diff(first.Published+rest.Published, r.silent+r.published); diff != "" {
					t.Errorf("from %.1f, %d records after the claim: %s", from, after, diff)
				}
				if rest.Runner.Digest() != r.runner.Digest() || rest.Runner.Reign() != r.runner.Reign() {
					t.Errorf("from %.1f, %d records after the claim: another digest or reign", from, after)
				}
			}
		}
	})
}

// TestI1InheritingWaitsForATick: a claim is no tick.
func TestI1InheritingWaitsForATick(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		r := ref.relieve(t, ref.part(0.5), ref.part(0.65))
		before, err := enginetest.Play(r.log[:r.claim], 1)
		if err != nil {
			t.Fatal(err)
		}
		live := len(before.Runner.Live())
		changed, err := before.Runner.Apply(uint64(r.claim+1), &r.log[r.claim])
		if err != nil || len(changed) > 0 || len(before.Runner.Live()) != live {
			t.Errorf("the claim itself gave %d revisions and %d live incidents: %v", len(changed), len(before.Runner.Live()), err)
		}
	})
}

// ghost is an open incident of a job that never reports.
func ghost(state string) explain.Incident {
	before, now, job := 2.0, 6.0, telemetry.Entity{Kind: telemetry.Job, Name: "ghost"}
	in := explain.Incident{ID: "inc-00000000000000aa", State: explain.StateOpen, Kind: explain.KindIncident, Revision: 3, Opened: 100e9, Updated: 160e9,
		Title: "ghost (8 GPUs) is 200 % slower since 00:01:40 ± 1 s: nobody knows."}
	in.Root = explain.Root{Entity: job, Signature: explain.Unknown, Domain: telemetry.Software}
	in.Impact.Jobs = []explain.JobImpact{{Job: job, State: state, Before: &before, Expected: &before, Now: &now, GPUSecondsLost: 100}}
	return in
}

// quiet is a log of nothing but ticks, one a second, after what begins it.
func quiet(seconds int, begin ...telemetry.Record) []telemetry.Record {
	log := []telemetry.Record{{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: 1000e9}}}
	log = append(log, begin...)
	for n := range seconds {
		log = append(log, telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: telemetry.Time(1001+n) * 1e9}})
	}
	return log
}

func TestI5WhoIsNotHeardOfWithinTheHorizonIsOver(t *testing.T) {
	claim := claimRecord(t, engine.Claim{Incidents: []explain.Incident{ghost("slow")}})
	played, err := enginetest.Play(quiet(1000, claim), 1)
	if err != nil {
		t.Fatal(err)
	}
	all := revisions(t, played.Published)
	if len(all) != 1 || all[0].ID != ghost("slow").ID || all[0].Revision != 4 || all[0].Resolution == nil || *all[0].Resolution != "no data" {
		t.Fatalf("published %s", played.Published)
	}
	// The first grid after the claim is judged two seconds, a lateness, behind.
	if got, want := all[0].Updated, telemetry.Time(999e9).Add(correlate.Horizon); got != want {
		t.Errorf("given up at %v, want %v", got, want)
	}
}

// TestI5AStalledJobThatHasItsPlaceStaysOpen: that it makes no steps is known.
func TestI5AStalledJobThatHasItsPlaceStaysOpen(t *testing.T) {
	open := ghost("stalled")
	place := telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: open.Root.Entity,
		To: telemetry.Entity{Kind: telemetry.Node, Name: "h1"}, Relation: telemetry.Runs, Source: "slurm"}}
	played, err := enginetest.Play(quiet(1200, place, claimRecord(t, engine.Claim{Incidents: []explain.Incident{open}})), 1)
	if err != nil {
		t.Fatal(err)
	}
	if live := played.Runner.Live(); played.Published != "" || len(live) != 1 || live[0].Revision != 3 {
		t.Errorf("published %q, %d live", played.Published, len(live))
	}
}

// TestI5AnIncidentOfNoJobIsOver: nothing could ever resolve it.
func TestI5AnIncidentOfNoJobIsOver(t *testing.T) {
	open := ghost("slow")
	open.Impact.Jobs = nil
	played, err := enginetest.Play(quiet(3, claimRecord(t, engine.Claim{Incidents: []explain.Incident{open}})), 1)
	if err != nil {
		t.Fatal(err)
	}
	if all := revisions(t, played.Published); len(all) != 1 || all[0].State != explain.StateResolved || all[0].Revision != 4 {
		t.Errorf("published %q", played.Published)
	}
}

// TestI5TheSameTroubleIsOpenedAgain: the restored incident was resolved a minute
// before the trouble that the engine sees.
func TestI5TheSameTroubleIsOpenedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		n := ref.part(0.3) // before the trouble
		open := revisions(t, ref.Published)[0]
		recovered, at := "recovered", open.Opened.Add(-60e9)
		open.ID, open.Revision, open.Opened = "inc-00000000000000bb", 7, open.Opened.Add(-300e9)
		open.State, open.Resolution, open.Resolved, open.Updated = explain.StateResolved, &recovered, &at, at
		log := slices.Concat(ref.Log[:n], []telemetry.Record{claimRecord(t, engine.Claim{Incidents: []explain.Incident{open}})}, ref.Log[n:])
		played, err := enginetest.Play(log, 1)
		if err != nil {
			t.Fatal(err)
		}
		all := revisions(t, played.Published)
		if len(all) == 0 || all[0].ID != open.ID || all[0].Revision != 8 || all[0].Reopens != open.Reopens+1 || all[0].Opened != open.Opened {
			t.Errorf("published %.400s", played.Published)
		}
	})
}

// TestI5AnotherRunnersClaimIsOnlyNoted: other rules, another version.
func TestI5AnotherRunnersClaimIsOnlyNoted(t *testing.T) {
	onEach(t, func(t *testing.T, ref reference) {
		n := ref.part(0.6)
		other := claimRecord(t, engine.Claim{Engine: "9.9.9", Rules: "x", Replica: "b", Incidents: []explain.Incident{ghost("slow")}})
		played, err := enginetest.Play(slices.Concat(ref.Log[:n], []telemetry.Record{other}, ref.Log[n:]), 1)
		if err != nil {
			t.Fatal(err)
		}
		ref.equal(t, played)
		if g := played.Runner.Reign(); g.Engine != "9.9.9" || g.Replica != "b" || played.Runner.Names(g) || g.Position != uint64(n+1) {
			t.Errorf("reign %+v", g)
		}
	})
}

func TestTheFirstOfTwoClaimsCounts(t *testing.T) {
	a := claimRecord(t, engine.Claim{Replica: "a", Whole: true, From: 1})
	digest := fmt.Sprintf("%x", a.Config.Digest)
	for name, c := range map[string]struct {
		log  []telemetry.Record
		want string
	}{
		"two at a time":                  {[]telemetry.Record{a, claimRecord(t, engine.Claim{Replica: "b", Whole: true, From: 1})}, "a"},
		"one over the other":             {[]telemetry.Record{a, claimRecord(t, engine.Claim{Replica: "b", Over: digest})}, "b"},
		"two over the same":              {[]telemetry.Record{a, claimRecord(t, engine.Claim{Replica: "b", Over: digest}), claimRecord(t, engine.Claim{Replica: "c", Over: digest})}, "b"},
		"over a forgotten one":           {[]telemetry.Record{claimRecord(t, engine.Claim{Replica: "b", Over: digest})}, "b"},
		"a renewal says who it is":       {[]telemetry.Record{claimRecord(t, engine.Claim{Replica: "a", Renews: digest}), a}, "a"},
		"a renewal beats a guess":        {[]telemetry.Record{claimRecord(t, engine.Claim{Replica: "c", Over: digest}), claimRecord(t, engine.Claim{Replica: "b", Renews: digest})}, "b"},
		"a late renewal does not":        {[]telemetry.Record{a, claimRecord(t, engine.Claim{Replica: "b", Over: digest}), claimRecord(t, engine.Claim{Replica: "a", Renews: digest})}, "b"},
		"who began behind its last word": {[]telemetry.Record{a, claimRecord(t, engine.Claim{Replica: "b", From: 2})}, "b"},
		"who should have known of it":    {[]telemetry.Record{a, claimRecord(t, engine.Claim{Replica: "b", From: 1})}, "a"},
		"who should have known of it again": {[]telemetry.Record{a, claimRecord(t, engine.Claim{Replica: "a", Renews: digest}),
			claimRecord(t, engine.Claim{Replica: "b", From: 2})}, "a"},
		"nonsense is nobody's": {[]telemetry.Record{a, {Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig(telemetry.ConfigEngine, 0, []byte("{"))}}, "a"},
	} {
		played, err := enginetest.Play(c.log, 1)
		if err != nil {
			t.Fatal(err)
		}
		if g := played.Runner.Reign(); g.Replica != c.want {
			t.Errorf("%s: %q reigns, want %q", name, g.Replica, c.want)
		}
		if n := played.Runner.Output().Counts; n.ConfigRefused != 0 || n.Unknown != 0 {
			t.Errorf("%s: the engine refused %d and did not know %d", name, n.ConfigRefused, n.Unknown)
		}
	}
}

// FuzzParseClaim reads arbitrary content. What is accepted can be written again and
// means the same, and an engine that restores it goes on.
func FuzzParseClaim(f *testing.F) {
	open := ghost("slow")
	for _, c := range []engine.Claim{{Engine: correlate.Version, Incidents: []explain.Incident{open}}, {Engine: "2", Whole: true, From: 7}, {Engine: "1", Renews: "ab"}} {
		config, err := c.Config(0)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(config.Content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := engine.ParseClaim(content)
		if err != nil {
			return
		}
		again, err := c.Config(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.ParseClaim(again.Content); err != nil {
			t.Fatalf("what was written again: %v", err)
		}
		r, err := engine.New(engine.Config{Correlate: correlate.Config{Rules: c.Rules}})
		if err != nil {
			t.Fatal(err)
		}
		log := quiet(5, telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig(telemetry.ConfigEngine, 0, content)})
		if _, err := enginetest.Continue(r, log); err != nil {
			t.Fatal(err)
		}
		r.Live()
		snapshot, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		other, err := engine.New(engine.Config{Correlate: correlate.Config{Rules: c.Rules}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Restore(snapshot); err != nil {
			t.Fatalf("its own snapshot: %v", err)
		}
	})
}
