package raise_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/raise"
	"github.com/quintet-dc/quintet/telemetry"
)

// t0 is when the tests' alerts begin to fire.
var t0 = time.Unix(1_800_000_000, 0).UTC()

// site is a server, what was raised there, and a clock that is set by hand.
type site struct {
	t      *testing.T
	server *broker.Server
	mu     sync.Mutex
	now    time.Time
	raised chan string
	first  map[string]string // short names of ids, in the order of their coming
}

func newSite(t *testing.T) *site {
	server, err := broker.Start(t.Context(), broker.Config{Dir: t.TempDir(), Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s := &site{t: t, server: server, now: t0, raised: make(chan string, 100), first: map[string]string{}}
	all := s.join(broker.All)
	if err := all.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	var listening sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); listening.Wait() })
	listening.Go(func() {
		_ = all.Alerts().Follow(ctx, 0, func(v bus.Revision) error {
			var in explain.Incident
			if err := json.Unmarshal(v.Data, &in); err != nil {
				return err
			}
			if s.first[v.ID] == "" {
				s.first[v.ID] = string(rune('A' + len(s.first)))
			}
			how := ""
			if in.Resolution != nil && *in.Resolution != "ceased" {
				how = " (" + *in.Resolution + ")"
			}
			s.raised <- fmt.Sprintf("%s.%d %s%s %s: %s", s.first[v.ID], v.Number, in.State, how, in.Root.Entity, in.Title)
			return nil
		})
	})
	return s
}

func (s *site) join(r broker.Role) *bus.Bus {
	c, err := s.server.Connection(r)
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := bus.Connect(s.t.Context(), bus.Config{Site: "lab", Name: s.t.Name(), InProcess: c.InProcess, Credentials: c.Credentials})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(b.Close)
	return b
}

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// pass moves the clock on.
func (s *site) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// start starts a process that evaluates rules, with what its role may do.
func (s *site) start(name string) (r *raise.Raiser, stop func()) {
	b := s.join(broker.Store)
	return s.startWith(name, b, b.Alerts())
}

// startWith is start, of a process that has its own view of the stream.
func (s *site) startWith(name string, b *bus.Bus, stream raise.Stream) (r *raise.Raiser, stop func()) {
	r, err := raise.New(raise.Config{Stream: stream, Buckets: b, Site: "lab", Name: name, Now: s.clock})
	if err != nil {
		s.t.Fatal(err)
	}
	return r, s.run(r.Run)
}

// run runs something until it is stopped, or the test ends.
func (s *site) run(fn func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := fn(ctx); err != nil {
			s.t.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	s.t.Cleanup(stop)
	return stop
}

// want waits for the next revision.
func (s *site) want(line string) {
	s.t.Helper()
	select {
	case got := <-s.raised:
		if got != line {
			s.t.Fatalf("raised\n%s\nwant\n%s", got, line)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatalf("not raised: %s", line)
	}
}

// alert is one of a link that is down.
func alert(port string, more ...string) raise.Alert {
	a := raise.Alert{Entity: telemetry.Entity{Kind: telemetry.Port, Name: port}, RuleAlert: notify.RuleAlert{StartsAt: telemetry.Time(t0.UnixNano()),
		Labels:      map[string]string{"alertname": "LinkDown", "severity": "warning", "domain": "network", "kind": "port", "name": port},
		Annotations: map[string]string{"summary": "port " + port + ": the link is down"}}}
	for i := 0; i < len(more); i += 2 {
		a.Labels[more[i]] = more[i+1]
	}
	return a
}

func over(a raise.Alert) raise.Alert {
	a.Over = true
	return a
}

// TestAGroup follows the alerts of one switch: one message for all, another one
// when an alert joins, but no more than one a minute, and an end under the same id;
// later alerts have another.
func TestAGroup(t *testing.T) {
	s := newSite(t)
	r, _ := s.start("q1")
	one, two, three := alert("leaf3/eth1"), alert("leaf3/eth2"), alert("leaf3/eth3")
	r.Take([]raise.Alert{one})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	r.Take([]raise.Alert{one, two})
	r.Take([]raise.Alert{three, alert("leaf4/eth1")}) // another switch is another group, and shows that the first was looked at
	s.want("B.1 open port:leaf4/eth1: port leaf4/eth1: the link is down")
	s.pass(time.Minute)
	r.Take([]raise.Alert{one, two, three})
	s.want("A.2 open switch:leaf3: LinkDown: 3 at switch:leaf3")
	r.Take([]raise.Alert{over(one), over(two), over(three)})
	s.want("A.3 resolved switch:leaf3: LinkDown: 3 at switch:leaf3")
	r.Take([]raise.Alert{two})
	s.want("C.1 open port:leaf3/eth2: port leaf3/eth2: the link is down")
	r.Take([]raise.Alert{alert("leaf5/eth1", "incident", "inc-1"), alert("leaf6/eth1", "severity", "page", "domain", "")})
	s.want("D.1 open port:leaf6/eth1: port leaf6/eth1: the link is down") // what an incident says itself is not
}

// TestSilenceOfARule ends alerts that are no longer reported: one past the time for
// which it holds, and one that an earlier process raised.
func TestSilenceOfARule(t *testing.T) {
	s := newSite(t)
	r, stop := s.start("q1")
	short := alert("leaf3/eth1")
	short.Until = t0.Add(4 * time.Minute)
	r.Take([]raise.Alert{short, alert("leaf4/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	s.want("B.1 open port:leaf4/eth1: port leaf4/eth1: the link is down")
	for range 4 { // other rules are evaluated
		s.pass(time.Minute + time.Second)
		r.Take(nil)
	}
	s.want("A.2 resolved port:leaf3/eth1: port leaf3/eth1: the link is down")
	stop()
	again, _ := s.start("q2")
	again.Take(nil) // rules are evaluated, and LinkDown may not have been yet
	again.Take([]raise.Alert{alert("leaf9/eth1")})
	s.want("C.1 open port:leaf9/eth1: port leaf9/eth1: the link is down")
	for range 5 {
		s.pass(time.Minute + time.Second)
		again.Take(nil)
	}
	s.want("B.2 resolved port:leaf4/eth1: port leaf4/eth1: the link is down")
}

// TestSeveralProcesses evaluates the same rules in two processes: each change is
// raised once, whichever of them stops.
func TestSeveralProcesses(t *testing.T) {
	s := newSite(t)
	one, stop := s.start("q1")
	one.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	two, _ := s.start("q2")
	two.Take([]raise.Alert{alert("leaf3/eth1"), alert("leaf4/eth1")}) // q1 has not heard of the second, and q1 raises
	one.Take([]raise.Alert{alert("leaf5/eth1")})
	s.want("B.1 open port:leaf5/eth1: port leaf5/eth1: the link is down")
	two.Take([]raise.Alert{alert("leaf5/eth1")})
	stop() // and gives back what it held
	s.want("C.1 open port:leaf4/eth1: port leaf4/eth1: the link is down")
	two.Take([]raise.Alert{over(alert("leaf3/eth1")), over(alert("leaf4/eth1")), over(alert("leaf5/eth1"))})
	ends := map[string]bool{}
	for range 3 {
		line, _, _ := strings.Cut(<-s.raised, ":")
		ends[line] = true
	}
	for _, want := range []string{"A.2 resolved port", "B.2 resolved port", "C.2 resolved port"} {
		if !ends[want] {
			t.Errorf("not raised: %s: %v", want, ends)
		}
	}
}

// TestAProcessThatWasKilled leaves the key behind: it is respected for as long
// as its holder may be alive.
func TestAProcessThatWasKilled(t *testing.T) {
	s := newSite(t)
	kv, err := s.join(broker.All).KeyValue(t.Context(), bus.Deliveries)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "alerting", []byte(`{"by":"q0"}`)); err != nil {
		t.Fatal(err)
	}
	r, _ := s.start("q1")
	r.Take([]raise.Alert{alert("leaf3/eth1")})
	select {
	case got := <-s.raised:
		t.Errorf("raised beside a process that may live: %s", got)
	case <-time.After(3 * time.Second):
	}
	s.pass(31 * time.Second)
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
}

// forgotten is a stream all of whose entries were removed by retention: it has its
// last sequence and no entries.
type forgotten struct{ raise.Stream }

func (f forgotten) Bounds(context.Context) (first, last uint64, err error) { return 8, 7, nil }

// TestAfterAQuietTime starts where alerts were raised once, and none for so long
// that the stream has removed them all.
func TestAfterAQuietTime(t *testing.T) {
	s := newSite(t)
	b := s.join(broker.Store)
	r, _ := s.startWith("q1", b, forgotten{b.Alerts()})
	r.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
}

// TestRunbookURLIsThePageOfTheAlert: a rule of ours states what to do as text, and
// runbook_url leads to this installation's page, or is absent where its address is
// not known; a rule that names an address keeps it.
func TestRunbookURLIsThePageOfTheAlert(t *testing.T) {
	ours := alert("leaf3/eth1")
	ours.Annotations["runbook"] = "Look at both ends. Do: reseat."
	own := alert("leaf4/eth1")
	own.Annotations["runbook"], own.Annotations["runbook_url"] = "Read it.", "https://wiki.example.org/link"
	none := alert("leaf5/eth1")
	for _, c := range []struct {
		name, page string
		alert      raise.Alert
		url, do    string
	}{
		{"with an address", "https://q.example.org/", ours, "https://q.example.org/alerts/ID", "Look at both ends. Do: reseat."},
		{"without one", "", ours, "", "Look at both ends. Do: reseat."},
		{"a rule with its own", "https://q.example.org", own, "https://wiki.example.org/link", "Read it."},
		{"a rule without a runbook", "https://q.example.org", none, "", ""},
	} {
		id, url, do := raise.OpenOne(c.page, c.alert)
		if want := strings.ReplaceAll(c.url, "ID", id); url != want {
			t.Errorf("%s: runbook_url is %q, want %q", c.name, url, want)
		}
		if do != c.do {
			t.Errorf("%s: the action is %q, want %q", c.name, do, c.do)
		}
	}
	if len(ours.Annotations) != 2 {
		t.Errorf("the rule's own annotations were changed: %v", ours.Annotations)
	}
}
