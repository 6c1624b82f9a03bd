package raise_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify/raise"
)

// watch starts a notifying process, with the permissions of its role.
func (s *site) watch(name string) {
	b := s.join(broker.Notify)
	w, err := raise.NewWatch(raise.Config{Stream: b.Alerts(), Buckets: b, Site: "lab", Name: name, Now: s.clock})
	if err != nil {
		s.t.Fatal(err)
	}
	s.run(w.Run)
}

// eventually lets time pass, a step at a time, until the next revision arrives.
// Meanwhile it calls evaluate.
func (s *site) eventually(line string, step time.Duration, evaluate func()) {
	s.t.Helper()
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for range 300 {
		select {
		case got := <-s.raised:
			if got != line {
				s.t.Fatalf("raised\n%s\nwant\n%s", got, line)
			}
			return
		case <-beat.C:
			s.pass(step)
			evaluate()
		}
	}
	s.t.Fatalf("not raised: %s", line)
}

// until waits until something is so.
func (s *site) until(what string, so func() bool) {
	s.t.Helper()
	beat := time.NewTicker(20 * time.Millisecond)
	defer beat.Stop()
	for range 1500 {
		if so() {
			return
		}
		<-beat.C
	}
	s.t.Fatalf("not so: %s", what)
}

// lease is the revision of the key by which one process raises alerts.
func (s *site) lease(kv jetstream.KeyValue) uint64 {
	s.t.Helper()
	e, err := kv.Get(s.t.Context(), "alerting")
	if err != nil {
		s.t.Fatal(err)
	}
	return e.Revision()
}

// TestNobodyEvaluates stops the process that evaluates rules while an alert is
// open. That is reported once, by one of the notifying processes; the alert stays
// open, because its state is unknown, until rules are evaluated again.
func TestNobodyEvaluates(t *testing.T) {
	s := newSite(t)
	s.watch("n1")
	s.watch("n2")
	r, stop := s.start("q1")
	r.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	stop()
	gone := s.clock()
	s.eventually("B.1 open collector:quintet: no rule is evaluated: alerts neither begin nor end", 10*time.Second, func() {})
	if after := s.clock().Sub(gone); after < 4*time.Minute {
		t.Errorf("told after %v: that is no silence yet", after)
	}
	again, _ := s.start("q2")
	again.Take(nil)
	s.want("B.2 resolved collector:quintet: no rule is evaluated: alerts neither begin nor end")
	s.eventually("A.2 resolved port:leaf3/eth1: port leaf3/eth1: the link is down", 10*time.Second, func() { again.Take(nil) })
}

// TestNothingIsOpen checks that a missing evaluation is not reported while no alert
// is open.
func TestNothingIsOpen(t *testing.T) {
	s := newSite(t)
	s.watch("n1")
	r, stop := s.start("q1")
	r.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	r.Take([]raise.Alert{over(alert("leaf3/eth1"))})
	s.want("A.2 resolved port:leaf3/eth1: port leaf3/eth1: the link is down")
	stop()
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for range 30 {
		select {
		case got := <-s.raised:
			t.Fatalf("raised: %s", got)
		case <-beat.C:
			s.pass(time.Minute)
		}
	}
}

// TestARuleEngineThatHangs renews nothing: another process takes over.
func TestARuleEngineThatHangs(t *testing.T) {
	s := newSite(t)
	one, _ := s.start("q1")
	one.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	two, _ := s.start("q2")
	kv, err := s.join(broker.All).KeyValue(t.Context(), bus.Deliveries)
	if err != nil {
		t.Fatal(err)
	}
	both := []raise.Alert{alert("leaf3/eth1"), alert("leaf4/eth1")} // one has not heard of the second
	for range 10 {
		before := s.lease(kv)
		s.pass(11 * time.Second)
		two.Take(both)
		s.until("one renews what it holds", func() bool { return s.lease(kv) != before })
	}
	select {
	case got := <-s.raised:
		t.Fatalf("taken from a process that lives: %s", got)
	default:
	}
	s.pass(11 * time.Second) // past two minutes without a rule evaluated
	s.eventually("B.1 open port:leaf4/eth1: port leaf4/eth1: the link is down", 5*time.Second, func() { two.Take(both) })
}

// TestRetire ends what was raised where rules raise nothing any more.
func TestRetire(t *testing.T) {
	s := newSite(t)
	r, stop := s.start("q1")
	r.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	stop()
	b := s.join(broker.Store)
	last, err := raise.New(raise.Config{Stream: b.Alerts(), Buckets: b, Site: "lab", Name: "q1", Now: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := last.Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.want("A.2 resolved (not-evaluated) port:leaf3/eth1: port leaf3/eth1: the link is down")
}

// TestForgotten keeps ended groups no longer than the stream does, and gives later
// ones another name.
func TestForgotten(t *testing.T) {
	s := newSite(t)
	r, _ := s.start("q1")
	r.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("A.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
	r.Take([]raise.Alert{over(alert("leaf3/eth1"))})
	s.want("A.2 resolved port:leaf3/eth1: port leaf3/eth1: the link is down")
	r.Take([]raise.Alert{alert("leaf4/eth1")})
	s.want("B.1 open port:leaf4/eth1: port leaf4/eth1: the link is down")
	s.until("both are remembered", func() bool { return r.Groups() == 2 })
	s.pass(bus.RevisionsRetain + time.Minute)
	s.until("what is over is forgotten, what is open is not", func() bool { r.Take(nil); return r.Groups() == 1 })
	r.Take([]raise.Alert{alert("leaf3/eth1")})
	s.want("C.1 open port:leaf3/eth1: port leaf3/eth1: the link is down")
}
