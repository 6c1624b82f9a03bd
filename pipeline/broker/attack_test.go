package broker_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// intruder connects NATS' own client over TCP with enrolled credentials.
func intruder(t *testing.T, s *broker.Server, creds []byte) (*nats.Conn, <-chan error) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(creds[strings.Index(string(creds), "-----BEGIN CERTIFICATE"):]) {
		t.Fatal("no certificate in the credentials")
	}
	errs := make(chan error, 1000)
	nc, err := nats.Connect(s.URL(), nats.UserCredentialBytes(creds), nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}),
		nats.CustomInboxPrefix("_INBOX."+bus.UserOf(creds)), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, errs
}

// streamCounts returns how many messages each stream of the site has stored.
func streamCounts(t *testing.T, s *broker.Server) map[string]uint64 {
	t.Helper()
	js := administrator(t, s)
	out := map[string]uint64{}
	list := js.ListStreams(within(t, 10*time.Second))
	for info := range list.Info() {
		out[info.Config.Name] = info.State.LastSeq
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return out
}

func administrator(t *testing.T, s *broker.Server) jetstream.JetStream {
	t.Helper()
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials), nats.CustomInboxPrefix("_INBOX."+bus.UserOf(c.Credentials)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// reservedReplies tries reply subjects that the server refuses before anything else
// happens.
func reservedReplies(t *testing.T, nc *nats.Conn, errs <-chan error, own string) {
	t.Helper()
	for _, reserved := range []string{"$JS.ACK.quintet-lab-log.c.1.1.1.1.1", "_R_.x"} {
		if err := nc.PublishRequest(own, reserved, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-errs:
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), reserved) {
				t.Errorf("reply subject %s: %v", reserved, err)
			}
		case <-t.Context().Done():
			t.Fatalf("reply subject %s: not refused", reserved)
		}
	}
}

// A collector publishes a record that is its own and names as the reply subject
// what it must not write to: JetStream would publish the acknowledgement there with
// the rights of the whole account.
func TestCollectorCannotWriteByReplySubject(t *testing.T) {
	s := start(t, broker.Config{Listen: "127.0.0.1:0"})
	all := connect(t, s, broker.All)
	ctx := within(t, 30*time.Second)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	stop, err := all.Answer("jobs", func(context.Context, []byte) ([]byte, error) { asked.Add(1); return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	creds, err := s.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	nc, errs := intruder(t, s, creds)
	body, err := telemetry.AppendRecord(nil, event("x"))
	if err != nil {
		t.Fatal(err)
	}
	before := streamCounts(t, s)
	const root = "quintet.v1.lab."
	replies := []string{root + "incidents.inc-1.1", root + "alerts.a.1", root + "ticks", root + "config",
		root + "h2.frames", root + "h2.schema", root + "h2.events", root + "h2.edges", root + "h1.schema", root + "ask.jobs",
		"$KV.quintet-lab-notes.x", "$KV.quintet-lab-deliveries.x", "$KV.quintet-lab-silences.x", "$KV.quintet-lab-replicas.x",
		"$O.quintet-lab-snapshots.C.x", "$O.quintet-lab-snapshots.M.x",
		"$JS.API.STREAM.DELETE.quintet-lab-log", "$JS.API.STREAM.PURGE.quintet-lab-incidents", "$JS.API.STREAM.MSG.DELETE.quintet-lab-log",
		"$SYS.REQ.SERVER.PING", "_INBOX.x"}
	reservedReplies(t, nc, errs, root+"h1.events")
	sent := uint64(0)
	for _, own := range []string{"events", "frames", "schema", "edges"} {
		for _, reply := range replies {
			if err := nc.PublishRequest(root+"h1."+own, reply, body); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	// Acknowledgements leave in order: behind this one, all of them have left.
	if _, err := nc.RequestWithContext(ctx, root+"h1.events", body); err != nil {
		t.Fatal(err)
	}
	sent++
	// Their entries would precede what the site writes now.
	if _, _, err := all.PublishIncident(ctx, "inc-probe", 1, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.Alerts().Publish(ctx, "probe", 1, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := all.Append(ctx, "", tick(7)); err != nil {
		t.Fatal(err)
	}
	after := streamCounts(t, s)
	before["quintet-lab-log"] += sent + 1
	before["quintet-lab-incidents"]++
	before["quintet-lab-alerts"]++
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] != before[name] {
			t.Errorf("%s: %d messages, want %d", name, after[name], before[name])
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d questions reached the engine", n)
	}
	err = all.Slice(ctx, bus.Span{}, func(e bus.Entry) error {
		if e.Collector != "h1" && e.Collector != "" {
			t.Errorf("position %d of the log is attributed to %q: %v", e.Position, e.Collector, e.Err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The account of the collectors has no JetStream and imports nothing but the
// subjects of records, so a token with wider permissions than it should have still
// reaches nothing.
func TestCollectorsAccountReachesRecordsOnly(t *testing.T) {
	s := start(t, broker.Config{Listen: "127.0.0.1:0"})
	all := connect(t, s, broker.All)
	ctx := within(t, 30*time.Second)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	creds, err := s.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	nc, errs := intruder(t, s, creds)
	for _, subject := range []string{"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.quintet-lab-log", "$JS.API.STREAM.PURGE.quintet-lab-log",
		"$JS.API.STREAM.MSG.GET.quintet-lab-log", "$JS.API.DIRECT.GET.quintet-lab-log", "quintet.v1.lab.ask.jobs", "quintet.v1.lab.ticks", "quintet.v1.lab.config",
		"quintet.v1.lab.incidents.x.1", "quintet.v1.lab.h2.events", "$KV.quintet-lab-notes.x"} {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-errs:
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-ctx.Done():
			t.Fatalf("%s: not refused", subject)
		}
	}
	// One connection cannot hold the server's memory with subscriptions.
	for i := range 40 {
		if _, err := nc.SubscribeSync(fmt.Sprintf("_INBOX.%s.%d", bus.UserOf(creds), i)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-errs:
		if !strings.Contains(err.Error(), "maximum subscriptions exceeded") {
			t.Errorf("40 subscriptions: %v", err)
		}
	case <-ctx.Done():
		t.Error("40 subscriptions are taken")
	}
}

// No client may remove by a request what a site wrote.
func TestStreamsDenyPurgeAndDelete(t *testing.T) {
	s := start(t, broker.Config{})
	all := connect(t, s, broker.All)
	ctx := within(t, 30*time.Second)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if err := all.Append(ctx, "", tick(1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.PublishIncident(ctx, "inc-1", 1, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.Alerts().Publish(ctx, "a", 1, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	js := administrator(t, s)
	for _, name := range []string{"quintet-lab-log", "quintet-lab-incidents", "quintet-lab-alerts"} {
		stream, err := js.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.DeleteMsg(ctx, 1); err == nil {
			t.Errorf("%s: a message was deleted", name)
		}
		if err := stream.Purge(ctx); err == nil {
			t.Errorf("%s: purged", name)
		}
	}
}

// Credentials that an earlier version signed with the site's account are refused
// from the first start of this one: a collector's could write anywhere in it.
func TestOpenSeparationRevokesEarlierCredentials(t *testing.T) {
	dir := t.TempDir()
	s := start(t, broker.Config{Dir: dir, Listen: "127.0.0.1:0"})
	old, err := s.EnrollAs("web,collect:h1") // in the site's account, as every collector was
	if err != nil {
		t.Fatal(err)
	}
	dial(t, bus.Config{Servers: []string{s.URL()}, Credentials: old}).Close()
	s.Close()
	// An upgrade, two seconds after the enrolment.
	mark := filepath.Join(dir, "keys", "collectors.since")
	if err := os.WriteFile(mark, fmt.Appendf(nil, "%d\n", time.Now().Unix()+1), 0o600); err != nil {
		t.Fatal(err)
	}
	s = start(t, broker.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if b, err := bus.Connect(within(t, 10*time.Second), bus.Config{Site: "lab", Servers: []string{s.URL()}, Credentials: old}); err == nil {
		b.Close()
		t.Error("credentials of before the separation are let in")
	}
	creds, err := s.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	dial(t, bus.Config{Servers: []string{s.URL()}, Credentials: creds})
}

// TestCollectorsSubscriptionsAreLimited: a collector that subscribes without end is
// refused after a few, and its records are still taken.
func TestCollectorsSubscriptionsAreLimited(t *testing.T) {
	s := start(t, broker.Config{Listen: "127.0.0.1:0"})
	all := connect(t, s, broker.All)
	ctx := within(t, 30*time.Second)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	creds, err := s.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	nc, errs := intruder(t, s, creds)
	own := "_INBOX." + bus.UserOf(creds) + ".flood."
	for range 100 {
		if _, err := nc.SubscribeSync(own + nats.NewInbox()[7:]); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-errs:
		if !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
			t.Errorf("100 subscriptions: %v", err)
		}
	case <-ctx.Done():
		t.Fatal("100 subscriptions are admitted")
	}
	body, err := telemetry.AppendRecord(nil, event("x"))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := intruder(t, s, creds)
	if _, err := other.RequestWithContext(ctx, "quintet.v1.lab.h1.events", body); err != nil {
		t.Errorf("a record beside the flood: %v", err)
	}
}
