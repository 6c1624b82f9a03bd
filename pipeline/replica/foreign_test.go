package replica

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// TestRunForeignRevisionsAreNoDivergence: entries that no engine wrote take the
// places of the first revisions of an incident. Everything is published all the
// same, and the alarm names them.
func TestRunForeignRevisionsAreNoDivergence(t *testing.T) {
	w := newWorld(t)
	c, err := w.server.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials), nats.CustomInboxPrefix("_INBOX."+bus.UserOf(c.Credentials)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	id := incidents(t, w.rec.want)[0].ID
	for revision := 1; revision <= 2; revision++ {
		if _, err := js.Publish(t.Context(), fmt.Sprintf("quintet.v1.%s.incidents.%s.%d", bus.Token(site), id, revision), []byte(`{"stream":"quintet-lab-log","seq":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	a, b := w.start("a"), w.start("b")
	w.until("one publishes", func() bool {
		p, ok := a.presence()
		q, also := b.presence()
		return ok && p.Publishing || also && q.Publishing
	})
	w.feed(0, len(w.rec.log))
	a.read()
	b.read()
	w.until("the incident is resolved", w.resolved)
	w.oneIncident()
	for _, r := range []*running{a, b} {
		if p, _ := r.presence(); p.Diverged {
			t.Errorf("%s has diverged", r.name)
		}
	}
	var status Status
	w.until("the alarm is raised", func() bool {
		w.ask(AskStatus, "", &status)
		for _, a := range status.Alarms {
			if a.Name == ForeignRevisions && strings.Contains(a.Text, "2 entries") {
				return true
			}
		}
		return false
	})
	for _, a := range status.Alarms {
		if a.Name == Diverged {
			t.Errorf("alarm: %+v", a)
		}
	}
	if err := a.ended(); err != nil {
		t.Error(err)
	}
}

// ended returns the error with which a replica ended, if it did.
func (r *running) ended() error {
	select {
	case err := <-r.done:
		return errors.Join(errors.New("it ended"), err)
	default:
		return nil
	}
}
