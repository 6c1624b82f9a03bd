package notify_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/graph"
)

// listening returns a config whose receivers are sent incidents and alerts.
func listening(m, of *memory, ears ...*ear) notify.Config {
	c := config(m, ears...)
	c.Alerts = of
	for i := range c.Receivers {
		c.Receivers[i].Kinds = []string{"incident", notify.KindAlert}
	}
	return c
}

// TestAlertsBesideIncidents checks that an alert that an open incident covers is
// not sent: no second notification. An alert that it does not cover is sent, and so
// is one that is still firing when the incident ends.
func TestAlertsBesideIncidents(t *testing.T) {
	above := hierarchy{"gpu:h1/3": {{Entity: entity(t, "node:h1"), How: "contains gpu:h1/3", Inside: true}},
		"port:spine1/p4": {{Entity: entity(t, "port:leaf1/p1"), How: "is the other end of the cable of port:spine1/p4", Far: true}},
		"port:spine1/p5": {{Entity: entity(t, "port:leaf1/p9"), How: "is the other end of the cable of port:spine1/p5", Far: true}},
		"port:leaf1/p7":  {{Entity: entity(t, "node:h1"), How: "contains the other end of the cable of port:leaf1/p7", Far: true}}}
	for _, c := range []struct {
		name string
		a    trouble
		want string // in the reason; empty: it is told
	}{
		{"of its root", trouble{root: "node:h1"}, "it is about node:h1, too"},
		{"below its root", trouble{root: "gpu:h1/3"}, "its root node:h1 contains gpu:h1/3"},
		{"of its chain", trouble{root: "port:leaf1/p1"}, "it is about port:leaf1/p1, too"},
		{"of the other end of a cable of its chain", trouble{root: "port:spine1/p4"}, "it is about port:spine1/p4, too"},
		{"of a cable of its root", trouble{root: "port:leaf1/p7"}, "its root node:h1 contains the other end"},
		{"of another cable", trouble{root: "port:spine1/p5"}, ""},
		{"of its job", trouble{root: "job:a"}, "it is about job:a, too"},
		{"of the switch that its chain crosses", trouble{root: "switch:leaf1"}, "it is about switch:leaf1, too"},
		{"several of its chain", trouble{root: "switch:leaf1", entities: []string{"port:leaf1/p1", "port:leaf1/p2"}}, "it is about switch:leaf1, too"},
		{"one more than its chain", trouble{root: "switch:leaf1", entities: []string{"port:leaf1/p1", "port:leaf1/p9"}}, ""},
		{"graver", trouble{root: "node:h1", severity: "critical"}, ""},
		{"elsewhere", trouble{root: "node:h2"}, ""},
		{"above its root", trouble{root: "rack:r1"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, of, e := newMemory(), newMemory(), newEar("ops")
				conf := listening(m, of, e)
				conf.Inhibit, conf.Graph = true, above
				stop := start(t, conf)
				synctest.Wait()
				cause := trouble{id: "inc-cause", root: "node:h1", jobs: []string{"job:a"}, chain: []string{"port:leaf1/p1", "port:leaf1/p2"}}
				cause.say(t, m, opened)
				synctest.Wait()
				a := c.a
				a.id, a.kind, a.signature = "alert-x", notify.KindAlert, "LinkDown"
				a.say(t, of, opened)
				<-time.After(time.Minute)
				if heard := slices.Contains(e.ids(), "alert-x.1"); heard != (c.want == "") {
					t.Errorf("told %v", e.ids())
				}
				all, err := notify.Deliveries(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(all, func(d notify.Delivery) bool { return d.Incident == "alert-x" })
				if c.want != "" && (all[i].State != notify.StateHeld || !strings.Contains(all[i].Reason, c.want)) {
					t.Errorf("%+v", all[i])
				}
				cause.say(t, m, resolved)
				<-time.After(time.Minute)
				if !slices.Contains(e.ids(), "alert-x.1") {
					t.Errorf("told %v", e.ids())
				}
				stop()
			})
		})
	}
}

// TestAnAlertHoldsNothingBack checks that an incident that follows from an alert is
// sent: the incident has more facts.
func TestAnAlertHoldsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, of, e := newMemory(), newMemory(), newEar("ops")
		c := listening(m, of, e)
		c.Inhibit, c.Graph = true, hierarchy{"gpu:h1/3": []graph.Step{{Entity: entity(t, "node:h1"), How: "contains gpu:h1/3", Inside: true}}}
		stop := start(t, c)
		a, in := trouble{id: "alert-x", kind: notify.KindAlert, root: "node:h1", severity: "critical"}, trouble{id: "inc-y", root: "gpu:h1/3"}
		a.say(t, of, opened)
		told(t, e, "alert-x.1")
		in.say(t, m, opened)
		told(t, e, "alert-x.1", "inc-y.1")
		a.say(t, of, resolved) // who knows of it is told of its end
		told(t, e, "alert-x.1", "inc-y.1", "alert-x.2")
		stop()
	})
}

// TestAlertsAcrossRestarts reads two streams with numbers of their own: a
// restart misses nothing of either and repeats nothing, and who did not ask for
// alerts has none.
func TestAlertsAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, of, e, other := newMemory(), newMemory(), newEar("ops"), newEar("other")
		c := listening(m, of, e, other)
		c.Receivers[1].Kinds = []string{"incident"}
		stop := start(t, c)
		synctest.Wait()
		in := trouble{id: "inc-y", root: "node:h7"}
		var last []string
		for i := range 3 {
			a := trouble{id: "alert-" + string(rune('a'+i)), kind: notify.KindAlert, root: "node:h1"}
			a.say(t, of, opened)
			last = append(last, a.id+".1")
			told(t, e, last...)
		}
		in.say(t, m, opened)
		last = append(last, "inc-y.1")
		told(t, e, last...)
		stop()
		b := trouble{id: "alert-d", kind: notify.KindAlert, root: "node:h1"}
		b.say(t, of, opened) // while nobody listens
		in.say(t, m, opened)
		stop = start(t, c)
		await(t, func() bool { return len(e.ids()) == len(last)+2 })
		if got := e.ids()[len(last):]; !slices.Contains(got, "alert-d.1") || !slices.Contains(got, "inc-y.2") {
			t.Errorf("%v", got)
		}
		told(t, other, "inc-y.1", "inc-y.2")
		stop()
		e.check(t)
	})
}

// TestRemindersOfAlerts repeats of each stream what is open in it.
func TestRemindersOfAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, of, r := newMemory(), newMemory(), &reminding{ear: newEar("am")}
		c := notify.Config{Bus: m, Incidents: m, Alerts: of, Name: "test", Receivers: []notify.Receiver{{Name: "am", Notifier: r, Kinds: []string{"incident", notify.KindAlert}}}}
		stop := start(t, c)
		synctest.Wait()
		a, in := trouble{id: "alert-x", kind: notify.KindAlert, root: "node:h1"}, trouble{id: "inc-y", root: "node:h2"}
		a.say(t, of, opened)
		in.say(t, m, opened)
		<-time.After(61 * time.Second)
		stop()
		slices.Sort(r.said)
		if want := []string{"alert-x.1.am", "inc-y.1.am"}; !slices.Equal(r.said, want) {
			t.Errorf("%q", r.said)
		}
	})
}
