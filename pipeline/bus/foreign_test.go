package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// client is NATS' own client in a role.
func client(t *testing.T, s *broker.Server, r broker.Role) *nats.Conn {
	t.Helper()
	c, err := s.Connection(r)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials), nats.CustomInboxPrefix("_INBOX."+bus.UserOf(c.Credentials)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// A foreign entry takes the place of a revision, written in any way: the engine's
// revision is published all the same, and is the only one that is read.
func TestPublishBesideForeignRevision(t *testing.T) {
	t.Parallel()
	s, b := site(t)
	ctx := within(t, 20*time.Second)
	const subject = "quintet.v1.lab.incidents.inc-1."
	forge(ctx, t, s, subject)
	engine, other := join(t, s, broker.Engine), join(t, s, broker.Engine)
	for _, c := range []struct {
		by   *bus.Bus
		data string
		want bus.Outcome
	}{{engine, "one", bus.Stored}, {other, "one", bus.Same}, {other, "two", bus.Differs}} {
		for revision := 1; revision <= 3; revision++ {
			got, held, err := c.by.PublishIncident(ctx, "inc-1", revision, []byte(c.data))
			if got != c.want || err != nil || got != bus.Stored && string(held) != "one" {
				t.Errorf("revision %d %q: %v, held %q, %v; want %v", revision, c.data, got, held, err, c.want)
			}
		}
	}
	set := metrics.NewSet()
	reader := join(t, s, broker.Notify, func(c *bus.Config) { c.Metrics = set })
	var read []string
	if err := reader.Incidents().Read(ctx, func(r bus.Revision) error {
		read = append(read, fmt.Sprintf("%s.%d %s", r.ID, r.Number, r.Data))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"inc-2.1 one", "inc-1.1 one", "inc-1.2 one", "inc-1.3 one"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
	if n := set.GetOrCreateCounter(`quintet_bus_foreign_revisions_total{stream="incidents"}`).Get(); n != 3 {
		t.Errorf("%d foreign entries are counted, want 3", n)
	}
	removeForeign(t, b, s)
}

// forge writes three foreign entries: a response of JetStream to a client, a forged
// revision by a process of another role, and a signed one of another incident.
func forge(ctx context.Context, t *testing.T, s *broker.Server, subject string) {
	t.Helper()
	admin, web := client(t, s, broker.All), client(t, s, broker.Web)
	if err := admin.PublishRequest("quintet.v1.lab.config", subject+"1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	// A process that may write notes and read them has the server copy one.
	js, err := jetstream.New(web)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "$KV.quintet-lab-notes.x", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	if err := web.PublishRequest("$JS.API.DIRECT.GET.KV_quintet-lab-notes.$KV.quintet-lab-notes.x", subject+"2", nil); err != nil {
		t.Fatal(err)
	}
	engine := join(t, s, broker.Engine)
	if _, _, err := engine.PublishIncident(ctx, "inc-2", 1, []byte("one")); err != nil {
		t.Fatal(err)
	}
	incidents, err := js.Stream(ctx, "quintet-lab-incidents")
	if err != nil {
		t.Fatal(err)
	}
	copied := func() *jetstream.RawStreamMsg {
		for {
			m, err := incidents.GetLastMsgForSubject(ctx, "quintet.v1.lab.incidents.inc-2.1")
			if err == nil {
				return m
			}
			if !errors.Is(err, jetstream.ErrMsgNotFound) {
				t.Fatal(err)
			}
		}
	}()
	msg := &nats.Msg{Subject: subject + "3", Header: copied.Header, Data: copied.Data}
	adminJS, err := jetstream.New(admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adminJS.PublishMsg(ctx, msg); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ { // the first two arrive without an acknowledgement to anybody
		for {
			if _, err := incidents.GetLastMsgForSubject(ctx, fmt.Sprint(subject, n)); err == nil {
				break
			} else if ctx.Err() != nil {
				t.Fatalf("entry %d was not forged: %v", n, err)
			}
		}
	}
}

// removeForeign removes the foreign entries, and checks that they are no longer
// listed.
func removeForeign(t *testing.T, b *bus.Bus, s *broker.Server) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	list, err := b.Incidents().Foreign(ctx)
	if err != nil || len(list) != 3 {
		t.Fatalf("foreign entries: %+v, %v", list, err)
	}
	var sequences []uint64
	for _, f := range list {
		if f.Reason == "" || f.Stored == 0 || !strings.Contains(f.Subject, "inc-1") {
			t.Errorf("foreign entry: %+v", f)
		}
		sequences = append(sequences, f.Sequence)
	}
	if err := b.Incidents().Remove(ctx, sequences); err != nil {
		t.Fatal(err)
	}
	if list, err := join(t, s, broker.Store).Incidents().Foreign(ctx); err != nil || len(list) != 0 {
		t.Errorf("after removing: %+v, %v", list, err)
	}
	if err := b.Create(ctx); err != nil { // as at the next start
		t.Fatal(err)
	}
	if list, err := b.Incidents().Foreign(ctx); err != nil || len(list) != 0 {
		t.Errorf("after the next start: %+v, %v", list, err)
	}
}

// What an earlier version stored is not signed, and is read.
func TestFollowReadsUnsignedRevisionsOfEarlierVersion(t *testing.T) {
	t.Parallel()
	s := serve(t, broker.Config{})
	admin := client(t, s, broker.All)
	js, err := jetstream.New(admin)
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 20*time.Second)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "quintet-lab-incidents", Subjects: []string{"quintet.v1.lab.incidents.*.*"},
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxAge: bus.RevisionsRetain, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "quintet.v1.lab.incidents.inc-1.1", []byte("old")); err != nil {
		t.Fatal(err)
	}
	b := join(t, s, broker.All)
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "quintet.v1.lab.incidents.inc-1.2", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	if o, _, err := b.PublishIncident(ctx, "inc-1", 2, []byte("new")); o != bus.Stored || err != nil {
		t.Errorf("%v, %v", o, err)
	}
	var read []string
	if err := b.Incidents().Read(ctx, func(r bus.Revision) error { read = append(read, string(r.Data)); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read, []string{"old", "new"}) {
		t.Errorf("read %q", read)
	}
}
