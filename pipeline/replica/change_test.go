package replica

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// hurt is a place in the recording at which the incident is open and has four
// revisions.
const hurt = 4800

func otherRules(c *Config) { c.Engine.Correlate.Rules = "other" }

// oneIncident requires one id, numbers that count up from one, and a resolution in
// the end.
func (w *world) oneIncident() []explain.Incident {
	w.t.Helper()
	stream := w.stream()
	all := incidents(w.t, stream)
	for i, in := range all {
		another := !in.Root.Entity.IsZero() && in.Root.Entity != all[len(all)-1].Root.Entity // than it is named in the end
		if in.ID != all[0].ID || in.Revision != i+1 || in.Opened != all[0].Opened || another {
			w.t.Fatalf("not one incident:\n%s", outline(w.t, stream))
		}
	}
	if n := len(all); n == 0 || all[n-1].State != explain.StateResolved {
		w.t.Fatalf("not resolved:\n%s", outline(w.t, stream))
	}
	return all
}

func (w *world) resolved() bool {
	all := incidents(w.t, w.stream())
	return len(all) > 0 && all[len(all)-1].State == explain.StateResolved
}

// TestAnotherVersionRunsSilentAndThenTakesOver: while the old replica runs the new
// one publishes nothing; when the old one stops, it goes on with its incident.
func TestAnotherVersionRunsSilentAndThenTakesOver(t *testing.T) {
	w := newWorld(t)
	old := w.start("old")
	old.publishes()
	fresh := w.start("new", otherRules)
	w.feed(0, hurt)
	old.read()
	fresh.read()
	if p, ok := fresh.presence(); !ok || p.Publishing || p.Rules != "other" {
		t.Errorf("beside the old one: %+v", p)
	}
	before := len(w.stream())
	old.stop()
	fresh.publishes()
	w.feed(hurt, len(w.rec.log))
	w.until("the incident is resolved", w.resolved)
	fresh.read()
	fresh.stop()
	for i, in := range w.oneIncident() {
		if mine := in.Rules == "other"; mine != (i >= before) {
			t.Errorf("revision %d is of rules %s; the old one published %d", in.Revision, in.Rules, before)
		}
	}
}

// TestAnUpgradeOnOneMachineJustWorks: the same name, stopped and started again
// with other rules; and back.
func TestAnUpgradeOnOneMachineJustWorks(t *testing.T) {
	w := newWorld(t)
	cuts := []int{0, 3300, hurt, 5500, len(w.rec.log)}
	for i := range len(cuts) - 1 {
		set := func(*Config) {}
		if i%2 == 1 {
			set = otherRules
		}
		r := w.start("a", set)
		r.publishes()
		w.feed(cuts[i], cuts[i+1])
		r.read()
		if i == len(cuts)-2 {
			w.until("the incident is resolved", w.resolved)
		}
		r.stop()
		if n := r.count(`quintet_replica_revisions_total{outcome="differs"}`); n > 0 {
			t.Errorf("replica %d disagreed with what was published", i)
		}
	}
	w.oneIncident()
}

// TestAReplicaThatDisagreesRaisesTheAlarm and is silent; when it is the only one
// left it goes on with what the stream holds.
func TestAReplicaThatDisagreesRaisesTheAlarm(t *testing.T) {
	w := newWorld(t)
	a := w.start("a")
	b := w.start("b", func(c *Config) {
		c.bend = func(data []byte) []byte { return bytes.Replace(data, []byte(`"reopens":0`), []byte(`"reopens":1`), 1) }
	})
	w.feed(0, 3000)
	a.publishes()
	b.publishes()
	w.feed(3000, 3400)
	var good, bad *running
	w.until("one of them is silent", func() bool {
		pa, _ := a.presence()
		pb, _ := b.presence()
		good, bad = a, b
		if pa.Diverged {
			good, bad = b, a
		}
		return pa.Diverged != pb.Diverged && pa.Publishing != pb.Publishing
	})
	w.until("whoever is asked tells of it", func() bool {
		var s Status
		b, err := w.bus.Ask(within(t, 10*time.Second), AskStatus, nil)
		if err != nil || json.Unmarshal(b, &s) != nil {
			return false // whoever was asked has just become silent
		}
		return len(s.Alarms) > 0 && s.Alarms[0].Name == Diverged && s.Alarms[0].Text != ""
	})
	if bad.gauge("quintet_replica_diverged") != 1 {
		t.Error("its metric does not say so")
	}
	bad.read()
	good.read()
	good.stop()
	bad.publishes()
	w.feed(3400, len(w.rec.log))
	w.until("the incident is resolved", w.resolved)
	w.oneIncident()
	var s Status
	w.ask(AskStatus, "", &s)
	if len(s.Alarms) == 0 {
		t.Error("the alarm is gone before anybody could look")
	}
}

// TestALogThatForgotTheSnapshot: the replica was away for too long. It begins
// with the oldest record, which is in the midst of the trouble, and goes on
// under the same id.
func TestALogThatForgotTheSnapshot(t *testing.T) {
	w := newWorld(t, func(c *bus.Config) { c.RetainBytes = 250 << 10 })
	r := w.start("a")
	r.publishes()
	for at := 0; at < hurt; at += 500 {
		w.feed(at, at+500)
		r.read() // or the log forgets what it has not read
	}
	w.until("the incident is published", func() bool { return len(w.stream()) == len(w.rec.want)-1 })
	r.stop()
	before := len(w.stream())
	infos, err := w.bus.Snapshots(t.Context())
	if err != nil || len(infos) == 0 {
		t.Fatal("no snapshot", err)
	}
	// Sources repeat what they stated; the log drives out what the snapshot ends at.
	w.feed(hurt, 5000)
	for _, rec := range w.rec.log[:hurt] {
		switch rec.Kind {
		case telemetry.SchemaRecord, telemetry.EdgeRecord, telemetry.ConfigRecord:
			if err := w.bus.Append(within(t, 10*time.Second), "import", rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.feed(5000, 5900)
	if first, _, err := w.bus.Bounds(t.Context()); err != nil || first <= infos[0].Position+1 {
		t.Fatalf("the log begins at %d, the newest snapshot is of %d: %v", first, infos[0].Position, err)
	}
	r = w.start("a")
	r.publishes()
	for at := 5900; at < len(w.rec.log); at += 500 {
		w.feed(at, min(at+500, len(w.rec.log)))
		r.read()
	}
	w.until("the incident is resolved", w.resolved)
	r.stop()
	all := w.oneIncident()
	if len(all) <= before || all[before].Updated < all[before-1].Updated {
		t.Errorf("%d revisions, %d before", len(all), before)
	}
}

// TestAYoungClaimOfAnotherIsWaitedFor: a replica that has just claimed may not have
// reported its presence yet.
func TestAYoungClaimOfAnotherIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	claim := engine.Claim{Engine: "0.0.1", Rules: "x", Replica: "ghost", Whole: true, From: 1}
	config, err := claim.Config(now())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.bus.Append(t.Context(), "", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: config}); err != nil {
		t.Fatal(err)
	}
	appended := time.Now()
	r := w.start("a", func(c *Config) { c.Beat = 400 * time.Millisecond })
	r.publishes()
	if waited := time.Since(appended); waited < missedBeats*400*time.Millisecond {
		t.Errorf("claimed %v after another one had", waited)
	}
}

func TestQuestionsAreAnsweredAmidTheTrouble(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	w.feed(0, hurt)
	r.publishes()
	r.read()
	var js Jobs
	w.ask(AskJobs, "", &js)
	var ins Incidents
	w.ask(AskIncidents, "", &ins)
	stream := incidents(t, w.stream())
	last := stream[len(stream)-1]
	if len(ins.Incidents) != 1 || ins.Incidents[0].ID != last.ID || ins.Incidents[0].Revision != last.Revision ||
		ins.Incidents[0].Impact.Jobs[0].GPUSecondsLost <= last.Impact.Jobs[0].GPUSecondsLost {
		t.Errorf("live %+v, last published %+v", ins.Incidents, last)
	}
	slow := 0
	for _, j := range js.Jobs {
		if j.State == "slow" || j.State == "stalled" {
			slow++
			if len(j.Incidents) != 1 || j.Incidents[0] != last.ID || j.Nodes == 0 || j.GPUs == 0 || j.LastStep == nil {
				t.Errorf("the hurt job: %+v", j)
			}
		}
	}
	if slow == 0 {
		t.Errorf("no job is slow: %+v", js.Jobs)
	}
	var s Status
	w.ask(AskStatus, "", &s)
	if s.Site != site || s.Tick == nil || s.Position < hurt || s.Sources == 0 || len(s.Replicas) != 1 || !s.Replicas[0].Publishing || s.Log.Last < hurt || s.Log.Bytes == 0 || len(s.Alarms) != 0 {
		t.Errorf("status %+v", s)
	}
	var c Coverage
	w.ask(AskCoverage, "", &c)
	if len(c.Sources) != s.Sources || c.Sources[0].Latest == nil || c.Sources[0].Cadence <= 0 {
		t.Errorf("%d sources, first %+v", len(c.Sources), c.Sources[0])
	}
	var top Topology
	w.ask(AskTopology, `{"entity":"job:train","hops":1}`, &top)
	if len(top.Entities) < 3 || len(top.Edges) == 0 || top.Edges[0].Attrs == nil || top.Kinds[telemetry.Node] == 0 || top.Truncated {
		t.Errorf("around the job: %d entities, %d edges, %v", len(top.Entities), len(top.Edges), top.Kinds)
	}
	var nics Topology
	w.ask(AskTopology, `{"kind":"nic","limit":1}`, &nics)
	if len(nics.Entities) != 1 || nics.Entities[0].Inside == nil || nics.Entities[0].Peer == nil || nics.Next != nics.Entities[0].ID.Name || !nics.Truncated {
		t.Errorf("the first nic: %+v", nics)
	}
	if _, err := w.bus.Ask(within(t, 10*time.Second), AskTopology, []byte(`{"hops":99}`)); err == nil {
		t.Error("99 hops are answered")
	}
	r.stop()
	if _, err := w.bus.Ask(within(t, 10*time.Second), AskStatus, nil); err == nil {
		t.Error("a replica that has ended answers")
	}
}

func TestCostsAreAnsweredAmidTheTrouble(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	w.feed(0, hurt)
	r.publishes()
	r.read()
	var ins Incidents
	w.ask(AskIncidents, "", &ins)
	open := 0.0
	for _, in := range ins.Incidents {
		for _, j := range in.Impact.Jobs {
			open += j.GPUSecondsLost
		}
	}
	var l attribute.Losses
	w.ask(AskLosses, "", &l)
	if open == 0 || l.Lost < open || len(l.Jobs) == 0 || len(l.Causes) == 0 || len(l.Domains) != 5 || len(l.Days) == 0 {
		t.Errorf("the incidents cost %v, the losses are %+v", open, l)
	}
	var none attribute.Losses
	w.ask(AskLosses, `{"window_seconds":86400,"job":"job:nobody"}`, &none)
	if none.Lost != 0 || len(none.Jobs) != 0 {
		t.Errorf("nobody lost %+v", none)
	}
	var m attribute.Matrix
	w.ask(AskCoupling, `{"window_seconds":3600}`, &m)
	if len(m.Coupling) != 5 || len(m.Lag) != 5 || m.Total < open {
		t.Errorf("coupling %+v", m)
	}
	var b attribute.Budgets
	w.ask(AskBudget, `{"job":"job:train"}`, &b)
	if len(b.Jobs) != 1 || b.Jobs[0].Whole <= 0 || b.Jobs[0].Step == nil || b.Fleet.Whole < b.Jobs[0].Whole || b.Jobs[0].MFU.PaLM != nil {
		t.Errorf("budget %+v", b)
	}
	var s attribute.Bottlenecks
	w.ask(AskBottlenecks, "", &s)
	if len(s.Jobs) == 0 || s.Fleet.MemoryWall != nil {
		t.Errorf("scores %+v", s)
	}
	for _, bad := range []string{`{"window_seconds":-1}`, `{"window_seconds":1e9}`, `{"window_seconds":"soon"}`, `{"job":"two words"}`} {
		for _, what := range []string{AskLosses, AskCoupling, AskBudget, AskBottlenecks} {
			if _, err := w.bus.Ask(within(t, 10*time.Second), what, []byte(bad)); err == nil {
				t.Errorf("%s is answered to %s", what, bad)
			}
		}
	}
}

func TestNonsenseInTheLogIsCountedAndPassed(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	r.publishes()
	bad := &telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig(telemetry.ConfigEngine, 0, []byte("nonsense"))}
	if err := w.bus.Append(t.Context(), "", bad); err != nil {
		t.Fatal(err)
	}
	m := bus.Message{Subject: "quintet.v1." + site + ".x.frames", Data: []byte{99, 0xff, 0xff}}
	if _, err := w.bus.Send(t.Context(), []bus.Message{m}); err != nil {
		t.Fatal(err)
	}
	w.feed(0, hurt)
	r.read()
	if n := r.count("quintet_replica_records_malformed_total"); n != 1 {
		t.Errorf("%d malformed counted", n)
	}
	want := w.rec.want[:len(w.rec.want)-1]
	w.until("it is published all the same", func() bool { return slices.Equal(w.stream(), want) })
}

// TestAnotherLatenessIsNotTaken: a grid and lateness from another replica, or from
// a reload, come too late for an engine that runs; it reports that.
func TestAnotherLatenessIsNotTaken(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	r.publishes()
	w.feed(0, hurt)
	c := telemetry.DefaultSiteConfig()
	c.Site, c.Lateness[telemetry.Slow] = site, 2*c.Lateness[telemetry.Slow]
	if err := w.bus.Append(t.Context(), "", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c.Record()}); err != nil {
		t.Fatal(err)
	}
	w.feed(hurt, len(w.rec.log))
	r.read()
	w.until("it is said", func() bool { return strings.Contains(r.log.String(), "a configuration of the site is not taken") })
	w.until("all the rest is as before", func() bool { return slices.Equal(w.stream(), w.rec.want) })
}

// TestASilentReplicaJoinsByASnapshot: it began too late to have the published
// state, and takes it from who publishes.
func TestASilentReplicaJoinsByASnapshot(t *testing.T) {
	w := newWorld(t, func(c *bus.Config) { c.RetainBytes = 250 << 10 })
	old := w.start("old")
	old.publishes()
	first := w.start("first", otherRules)
	for at := 0; at < 3000; at += 500 {
		w.feed(at, at+500)
		old.read()
		first.read()
	}
	old.stop()
	first.publishes()
	late := w.start("late", otherRules)
	late.read()
	w.feed(3000, 3100)
	late.publishes()
	if n := late.count("quintet_replica_joins_total"); n != 1 {
		t.Errorf("joined %d times", n)
	}
	for at := 3100; at < len(w.rec.log); at += 500 {
		w.feed(at, min(at+500, len(w.rec.log)))
		late.read()
	}
	w.until("the incident is resolved", w.resolved)
	w.oneIncident()
	for _, r := range []*running{first, late} {
		if n := r.count(`quintet_replica_revisions_total{outcome="differs"}`); n > 0 {
			t.Errorf("%s disagreed", r.name)
		}
	}
}

// TestALogThatIsMadeAnewUnderARunningReplica: what was read is gone.
func TestALogThatIsMadeAnewUnderARunningReplica(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	r.publishes()
	w.feed(0, hurt)
	r.read()
	w.until("the incident is published", func() bool { return len(w.stream()) > 1 })
	w.forgetLog()
	w.feed(0, 300) // what sources repeat, and time far back
	r.publishes()
	w.until("it has begun anew", func() bool {
		return r.count("quintet_replica_starts_total") > 1 && r.gauge("quintet_replica_publishing") == 1
	})
	w.feed(hurt, len(w.rec.log))
	w.until("the incident is resolved", w.resolved)
	w.oneIncident()
	if n := r.count(`quintet_replica_revisions_total{outcome="differs"}`); n > 0 {
		t.Error("it disagreed with itself")
	}
}
