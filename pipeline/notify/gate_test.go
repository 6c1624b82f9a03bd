package notify_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/graph"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

func entity(t testing.TB, s string) telemetry.Entity {
	t.Helper()
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func matchers(t testing.TB, texts ...string) (out match.Matchers) {
	t.Helper()
	for _, s := range texts {
		m, err := match.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// trouble is an incident with a root.
type trouble struct {
	id, root, signature, severity, kind string
	jobs, chain, entities               []string
	number                              int
}

// say publishes the next revision.
func (x *trouble) say(t testing.TB, m *memory, state string) {
	t.Helper()
	x.number++
	in := explain.Incident{ID: x.id, State: state, Kind: cmp.Or(x.kind, explain.KindIncident), Severity: cmp.Or(x.severity, explain.SeverityWarning), Site: "lab", Revision: x.number,
		Updated: telemetry.Time(time.Now().UnixNano()), Opened: telemetry.Time(time.Now().UnixNano()),
		Root: explain.Root{Entity: entity(t, x.root), Domain: telemetry.Network, Signature: cmp.Or(x.signature, "slow-receiver")}}
	for _, j := range x.jobs {
		in.Impact.Jobs = append(in.Impact.Jobs, explain.JobImpact{Job: entity(t, j)})
	}
	for _, e := range x.entities {
		in.Impact.Entities = append(in.Impact.Entities, entity(t, e))
	}
	for _, e := range x.chain {
		in.Chain = append(in.Chain, explain.Link{Entity: entity(t, e), Domain: telemetry.Network})
	}
	b, err := engine.Canonical(&in)
	if err != nil {
		t.Fatal(err)
	}
	m.publish(x.id, x.number, b)
}

// why returns the log of an incident at a receiver, one word a revision.
func why(t testing.TB, m *memory, incident, receiver string) (out []string) {
	t.Helper()
	all, err := notify.Deliveries(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		for _, c := range d.Log {
			if d.Incident == incident && d.Receiver == receiver {
				out = append(out, c.Outcome)
			}
		}
	}
	return out
}

func TestRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, net, dc, all := newMemory(), newEar("net"), newEar("dc"), newEar("all")
		c := config(m, net, dc, all)
		c.Teams = []match.Owner{{Name: "fabric", Match: matchers(t, "entity=switch:*")}}
		c.Routes = []notify.Route{
			{Match: matchers(t, "team=fabric"), Receivers: []string{"net"}, Continue: true},
			{Match: matchers(t, "severity=critical", "job=train"), Receivers: []string{"dc"}},
			{Match: matchers(t, "severity!=info"), Receivers: []string{"all"}},
		}
		stop := start(t, c)
		synctest.Wait()
		leaf, nic, quiet := trouble{id: "inc-leaf", root: "switch:leaf3"}, trouble{id: "inc-nic", root: "nic:h1/n0", severity: "critical", jobs: []string{"job:train"}}, trouble{id: "inc-quiet", root: "nic:h2/n0", severity: "info"}
		leaf.say(t, m, opened)
		nic.say(t, m, opened)
		quiet.say(t, m, opened)
		told(t, net, "inc-leaf.1")
		told(t, dc, "inc-nic.1")
		told(t, all, "inc-leaf.1")
		// Once a receiver was notified, it is notified until the incident ends,
		// whatever its severity becomes.
		nic.severity = "warning"
		nic.say(t, m, opened)
		quiet.say(t, m, resolved)
		told(t, dc, "inc-nic.1", "inc-nic.2")
		told(t, all, "inc-leaf.1", "inc-nic.2")
		synctest.Wait()
		if got := why(t, m, "inc-quiet", "all"); !slices.Equal(got, []string{"unrouted", "unrouted"}) {
			t.Errorf("%v", got)
		}
		stop()
	})
}

// hush is silences that a test sets.
type hush struct {
	mu   sync.Mutex
	jobs map[string]bool
	late bool
}

func (h *hush) set(job string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[job] = on
}

func (h *hush) Muting(f match.Facts, _ telemetry.Time) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range f.All(match.Job) {
		if h.jobs[j] {
			return []string{"sil-" + j}
		}
	}
	return nil
}

func (h *hush) Known() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.late
}

func TestSilences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e, h := newMemory(), newEar("ops"), &hush{jobs: map[string]bool{"a": true}}
		c := config(m, e)
		c.Silences = h
		stop := start(t, c)
		synctest.Wait()
		over := trouble{id: "inc-over", root: "nic:h1/n0", jobs: []string{"job:a"}}
		lasts := trouble{id: "inc-lasts", root: "nic:h2/n0", jobs: []string{"job:a"}}
		before := trouble{id: "inc-before", root: "nic:h3/n0", jobs: []string{"job:b"}}
		for _, x := range []*trouble{&over, &lasts, &before} {
			x.say(t, m, opened)
		}
		told(t, e, "inc-before.1")
		h.set("b", true)
		<-time.After(time.Minute)
		over.say(t, m, resolved)   // nobody knew of it
		before.say(t, m, opened)   // goes on in silence
		before.say(t, m, resolved) // its end is told: its opening was
		lasts.say(t, m, opened)
		<-time.After(time.Minute)
		told(t, e, "inc-before.1", "inc-before.3")
		stop() // a silence outlives the process
		stop = start(t, c)
		<-time.After(time.Hour)
		told(t, e, "inc-before.1", "inc-before.3")
		h.set("a", false)
		told(t, e, "inc-before.1", "inc-before.3", "inc-lasts.2")
		stop()
		if got := why(t, m, "inc-over", "ops"); !slices.Equal(got, []string{"silenced", "silenced"}) {
			t.Errorf("%v", got)
		}
		e.check(t)
	})
}

// TestNothingIsSentBeforeTheSilencesAreRead, and all of it if they never are.
func TestNothingIsSentBeforeTheSilencesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e, h := newMemory(), newEar("ops"), &hush{late: true}
		c := config(m, e)
		c.Silences = h
		stop := start(t, c)
		began := time.Now()
		x := trouble{id: "inc-a", root: "nic:h1/n0"}
		x.say(t, m, opened)
		told(t, e, "inc-a.1")
		if d := e.all()[0].at.Sub(began); d != 10*time.Second {
			t.Errorf("told after %v", d)
		}
		stop()
	})
}

// site is a graph of edges upwards.
type hierarchy map[string][]graph.Step

func (g hierarchy) Above(e telemetry.Entity) ([]graph.Step, bool) { return g[e.String()], true }

func (g hierarchy) Maintained(e telemetry.Entity) (telemetry.Entity, bool) {
	return e, len(g["maintenance of "+e.String()]) > 0
}

func (g hierarchy) Within(f match.Facts, _ telemetry.Entity) match.Facts { return f }

func TestInhibition(t *testing.T) {
	node := func(t *testing.T) hierarchy {
		up := []graph.Step{{Entity: entity(t, "node:h1"), How: "contains gpu:h1/3", Inside: true}, {Entity: entity(t, "cdu:c1"), How: "cools rack:r1"}}
		return hierarchy{"gpu:h1/3": up}
	}
	cause := trouble{id: "inc-cause", root: "node:h1", severity: "critical", jobs: []string{"job:a"}, chain: []string{"node:h1", "port:leaf1/p1"}}
	for _, c := range []struct {
		name   string
		cause  trouble
		effect trouble
		want   string // in the reason; empty: it is told
	}{
		{"contained", cause, trouble{id: "inc-x", root: "gpu:h1/3"}, "suppressed by inc-cause: its root node:h1 contains gpu:h1/3"},
		{"cooled", trouble{id: "inc-cause", root: "cdu:c1", severity: "critical"}, trouble{id: "inc-x", root: "gpu:h1/3"}, "its root cdu:c1 cools rack:r1"},
		{"in its chain", cause, trouble{id: "inc-x", root: "port:leaf1/p1", jobs: []string{"job:a"}, signature: "unknown"}, "port:leaf1/p1 is one of the entities that it affects"},
		{"its degraded job", cause, trouble{id: "inc-x", root: "job:a", jobs: []string{"job:a"}, signature: "unknown"}, "it degrades job:a"},
		{"a risk in its chain", cause, trouble{id: "inc-x", root: "port:leaf1/p1", kind: "risk"}, "port:leaf1/p1 is one of the entities that it affects"},
		{"a fault of its own", cause, trouble{id: "inc-x", root: "port:leaf1/p1", jobs: []string{"job:a"}, signature: "link-errors"}, ""},
		{"a risk of the same root", cause, trouble{id: "inc-x", root: "node:h1", kind: "risk", signature: "ber-drift"}, "the same root"},
		{"graver", trouble{id: "inc-cause", root: "node:h1"}, trouble{id: "inc-x", root: "gpu:h1/3", severity: "critical"}, ""},
		{"another job", cause, trouble{id: "inc-x", root: "port:leaf1/p1", jobs: []string{"job:a", "job:b"}, signature: "unknown"}, ""},
		{"elsewhere", cause, trouble{id: "inc-x", root: "gpu:h2/3"}, ""},
		{"for another receiver", trouble{id: "inc-cause", root: "node:h1", severity: "critical", signature: "not-for-ops"}, trouble{id: "inc-x", root: "gpu:h1/3"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, e := newMemory(), newEar("ops")
				conf := config(m, e)
				conf.Inhibit, conf.Graph = true, node(t)
				conf.Routes = []notify.Route{{Match: matchers(t, "signature!=not-for-ops"), Receivers: []string{"ops"}}}
				stop := start(t, conf)
				synctest.Wait()
				cause, effect := c.cause, c.effect
				cause.say(t, m, opened)
				synctest.Wait()
				effect.say(t, m, opened)
				<-time.After(time.Minute)
				if heard := slices.Contains(e.ids(), "inc-x.1"); heard != (c.want == "") {
					t.Errorf("told %v", e.ids())
				}
				all, err := notify.Deliveries(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(all, func(d notify.Delivery) bool { return d.Incident == "inc-x" })
				if c.want != "" && (all[i].State != notify.StateHeld || !strings.Contains(all[i].Reason, c.want)) {
					t.Errorf("%+v", all[i])
				}
				cause.say(t, m, resolved) // what is still there is told now
				<-time.After(time.Minute)
				if !slices.Contains(e.ids(), "inc-x.1") {
					t.Errorf("told %v", e.ids())
				}
				stop()
			})
		})
	}
}

// TestTwoThatFollowFromEachOther are not both held back.
func TestTwoThatFollowFromEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		c := config(m, e)
		c.Inhibit = true
		a := trouble{id: "inc-a", root: "node:h1", jobs: []string{"job:j"}, chain: []string{"node:h2"}, signature: "unknown"}
		b := trouble{id: "inc-b", root: "node:h2", jobs: []string{"job:j"}, chain: []string{"node:h1"}, signature: "unknown"}
		a.say(t, m, opened)
		<-time.After(time.Second)
		b.say(t, m, opened)
		stop := start(t, c)
		<-time.After(time.Minute)
		told(t, e, "inc-a.1")
		stop()
	})
}

func TestMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		c := config(m, e)
		c.Graph = hierarchy{"maintenance of node:h1": []graph.Step{{}}}
		stop := start(t, c)
		synctest.Wait()
		in, other := trouble{id: "inc-in", root: "node:h1"}, trouble{id: "inc-out", root: "node:h2"}
		in.say(t, m, opened)
		other.say(t, m, opened)
		<-time.After(time.Minute)
		told(t, e, "inc-out.1")
		if got := why(t, m, "inc-in", "ops"); !slices.Equal(got, []string{"silenced"}) {
			t.Errorf("%v", got)
		}
		stop()
	})
}

// TestFlapping checks that flapping is sent once with a notice, and then when it is
// worse or stable.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		c := config(m, e)
		c.Flaps = notify.Flaps{Window: time.Hour, Start: 6, Stop: 2}
		stop := start(t, c)
		synctest.Wait()
		x := trouble{id: "inc-x", root: "port:leaf1/p1", signature: "link-flap", jobs: []string{"job:a"}}
		again := trouble{id: "inc-y", root: "port:leaf1/p1", signature: "link-flap", jobs: []string{"job:a"}} // the same under another id
		other := trouble{id: "inc-z", root: "port:leaf1/p2", signature: "link-flap", jobs: []string{"job:a"}}
		for range 3 {
			x.say(t, m, opened)
			<-time.After(time.Minute)
			x.say(t, m, resolved)
			<-time.After(time.Minute)
		}
		want := []string{"inc-x.1", "inc-x.2", "inc-x.3", "inc-x.4", "inc-x.5", "inc-x.6"}
		told(t, e, want...)
		if h := e.all()[5]; !strings.HasSuffix(h.body, `,"notice":"flapping: 6 changes of state within 1h; quiet until it is stable or gets worse"}`) || strings.Contains(e.all()[4].body, "notice") {
			t.Errorf("%s", h.body)
		}
		for range 3 { // quiet now, under any id
			again.say(t, m, opened)
			<-time.After(time.Minute)
			again.say(t, m, resolved)
			x.say(t, m, opened)
			<-time.After(time.Minute)
			x.say(t, m, resolved)
		}
		other.say(t, m, opened)
		want = append(want, "inc-z.1")
		told(t, e, want...)
		x.severity = explain.SeverityCritical
		x.say(t, m, opened)
		want = append(want, "inc-x.13")
		told(t, e, want...)
		if h := e.all(); !strings.Contains(h[len(h)-1].body, "notice") {
			t.Error("what is worse is told without the notice")
		}
		stop()
		stop = start(t, c) // the memory follows from the stream
		x.say(t, m, resolved)
		<-time.After(30 * time.Minute)
		told(t, e, want...)
		<-time.After(31 * time.Minute) // stable
		want = append(want, "inc-x.14")
		told(t, e, want...)
		stop()
		if n := e.check(t); n != 0 {
			t.Errorf("%d repeats", n)
		}
	})
}

// TestANoticeIsRepeatedWithTheSameBytes by the next process after a kill.
func TestANoticeIsRepeatedWithTheSameBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		c := config(m, e)
		c.Flaps, c.Grace = notify.Flaps{Window: time.Hour, Start: 2, Stop: 1}, -1
		stop := start(t, c)
		synctest.Wait()
		x := trouble{id: "inc-x", root: "port:leaf1/p1"}
		x.say(t, m, opened)
		told(t, e, "inc-x.1")
		e.reply(hang)
		x.say(t, m, resolved)
		synctest.Wait()
		stop()
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		c.Flaps = notify.Flaps{} // it is configured otherwise meanwhile
		stop = start(t, c)
		told(t, e, "inc-x.1", "inc-x.2")
		stop()
		if n := e.check(t); n != 1 { // check holds bodies against ids
			t.Errorf("%d repeats", n)
		}
	})
}

// TestADeadDeliveryIsTriedAgain on request.
func TestADeadDeliveryIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := newMemory(), newEar("ops")
		e.always(notify.Answer{Verdict: notify.Refused, Status: 500, Reason: "no"})
		stop := start(t, config(m, e))
		synctest.Wait()
		x := trouble{id: "inc-x", root: "port:leaf1/p1"}
		x.say(t, m, opened)
		<-time.After(100 * time.Hour)
		dead, err := deadOf(t.Context(), m)
		if err != nil || len(dead) != 1 || dead[0].ID() != "inc-x.ops" {
			t.Fatalf("%+v, %v", dead, err)
		}
		for id, want := range map[string]error{"inc-no.ops": notify.ErrNoDelivery, "nonsense": notify.ErrNoDelivery, "inc-x.ops": nil} {
			if _, err := notify.Retry(t.Context(), m, id, "ann"); err != want {
				t.Errorf("%s: %v", id, err)
			}
		}
		stop() // whoever starts next hears of it
		e.always(notify.Answer{Verdict: notify.Taken, Status: 200})
		stop = start(t, config(m, e))
		told(t, e, "inc-x.1")
		if _, err := notify.Retry(t.Context(), m, "inc-x.ops", "ann"); err != notify.ErrNotDead {
			t.Errorf("%v", err)
		}
		stop()
		got := why(t, m, "inc-x", "ops")
		if !slices.Equal(got, []string{"dead", "retried", "delivered"}) {
			t.Errorf("%v", got)
		}
		if keys := m.keys("retry."); len(keys) != 0 {
			t.Errorf("%v", keys)
		}
	})
}

// reminding is an ear that requires reminders.
type reminding struct {
	*ear
	mu   sync.Mutex
	said []string
}

func (r *reminding) RemindEvery() time.Duration { return time.Minute }

func (r *reminding) Remind(_ context.Context, open []*notify.Message) notify.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := ""
	for _, m := range open {
		line += m.ID + " "
	}
	r.said = append(r.said, strings.TrimSpace(line))
	return notify.Answer{Verdict: notify.Taken}
}

// TestReminders checks that reminders are of open incidents that were delivered,
// also after a restart.
func TestReminders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r, h := newMemory(), &reminding{ear: newEar("am")}, &hush{jobs: map[string]bool{"a": true}}
		c := notify.Config{Bus: m, Incidents: m, Name: "test", Silences: h, Receivers: []notify.Receiver{{Name: "am", Notifier: r}}}
		stop := start(t, c)
		synctest.Wait()
		x, y, mute := trouble{id: "inc-x", root: "node:h1"}, trouble{id: "inc-y", root: "node:h2"}, trouble{id: "inc-mute", root: "node:h3", jobs: []string{"job:a"}}
		for _, in := range []*trouble{&x, &y, &mute} {
			in.say(t, m, opened)
		}
		<-time.After(61 * time.Second)
		y.say(t, m, resolved)
		<-time.After(time.Minute)
		stop()
		stop = start(t, c)
		<-time.After(61 * time.Second)
		stop()
		want := []string{"inc-x.1.am inc-y.1.am", "inc-x.1.am", "inc-x.1.am"}
		if !slices.Equal(r.said, want) {
			t.Errorf("%q", r.said)
		}
		r.check(t)
	})
}
