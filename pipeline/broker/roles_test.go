package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

func event(text string) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
		Entity: telemetry.Entity{Kind: telemetry.Node, Name: "n1"}, At: 1_800_000_000_000_000_000, Name: telemetry.EventXID, Text: text,
	}}
}

func tick(n int) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: telemetry.Time(1_800_000_000+n).Add(0) * 1_000_000_000}}
}

// Every role does its work, and none of the others'.
func TestRoles(t *testing.T) {
	s := start(t, broker.Config{})
	all := connect(t, s, broker.All)
	if err := all.Create(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	stop, err := all.Answer("jobs", func(context.Context, []byte) ([]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := all.Append(within(t, 10*time.Second), "h9", event("first"), tick(0)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.PublishIncident(within(t, 10*time.Second), "inc-0", 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.Alerts().Publish(within(t, 10*time.Second), "alert-0", 1, nil); err != nil {
		t.Fatal(err)
	}
	info := bus.SnapshotInfo{Position: 2, Tick: 1, Engine: "e", Rules: "r"}
	if err := all.PutSnapshot(within(t, 10*time.Second), info, []byte("state")); err != nil {
		t.Fatal(err)
	}
	acts := roleActs(info)
	may := map[broker.Role]string{
		broker.All:           "state|state as another|tick|configure|read|publish|read incidents|raise|hear alerts|save|read snapshots|ask|deliver|be present|create",
		broker.Collect("h1"): "state",
		"tick,collect:h1":    "tick|read|state",
		broker.Tick:          "tick|read",
		broker.Engine:        "configure|read|publish|read incidents|save|read snapshots|be present",
		broker.Store:         "read|read incidents|raise|hear alerts|read snapshots",
		broker.Notify:        "read incidents|raise|hear alerts|ask|deliver",
		broker.Web:           "read|read incidents|hear alerts|read snapshots|ask",
	}
	for role, list := range may {
		t.Run(string(role), func(t *testing.T) {
			b := connect(t, s, role)
			for name, act := range acts {
				want := strings.Contains("|"+list+"|", "|"+name+"|")
				patience := 10 * time.Second
				if !want && (name == "ask" || name == "deliver" || name == "be present") {
					patience = 200 * time.Millisecond // no answer comes
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				err := act(ctx, b, strings.ReplaceAll(string(role), ":", "-"))
				cancel()
				switch {
				case want && err != nil:
					t.Errorf("%s may not %s: %v", role, name, err)
				case !want && err == nil:
					t.Errorf("%s may %s", role, name)
				case !want && patience > time.Second && !errors.Is(err, bus.ErrRefused):
					t.Errorf("%s may not %s, but is not told: %v", role, name, err)
				}
			}
		})
	}
}

// roleActs is what roles do, by name.
func roleActs(info bus.SnapshotInfo) map[string]func(context.Context, *bus.Bus, string) error {
	done := errors.New("done")
	return map[string]func(context.Context, *bus.Bus, string) error{
		"state":            func(ctx context.Context, b *bus.Bus, _ string) error { return b.Append(ctx, "h1", event("x")) },
		"state as another": func(ctx context.Context, b *bus.Bus, _ string) error { return b.Append(ctx, "h2", event("x")) },
		"tick":             func(ctx context.Context, b *bus.Bus, _ string) error { return b.Append(ctx, "", tick(1)) },
		"configure": func(ctx context.Context, b *bus.Bus, _ string) error {
			return b.Append(ctx, "", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig("k", 1, nil)})
		},
		"read": func(ctx context.Context, b *bus.Bus, _ string) error {
			if _, ok, err := b.LastTick(ctx); !ok || err != nil {
				return err
			}
			err := b.Follow(ctx, 0, func(bus.Entry) error { return done })
			if errors.Is(err, done) {
				err = nil
			}
			return err
		},
		"publish": func(ctx context.Context, b *bus.Bus, role string) error {
			_, _, err := b.PublishIncident(ctx, "inc-"+role, 1, nil)
			return err
		},
		"raise": func(ctx context.Context, b *bus.Bus, role string) error {
			if _, _, err := b.Alerts().Publish(ctx, "alert-"+role, 1, nil); err != nil {
				return err
			}
			kv, err := b.KeyValue(ctx, bus.Deliveries)
			if err == nil {
				_, err = kv.Put(ctx, "alerting", nil)
			}
			return err
		},
		"hear alerts": func(ctx context.Context, b *bus.Bus, _ string) error {
			err := b.Alerts().Follow(ctx, 0, func(bus.Revision) error { return done })
			if errors.Is(err, done) {
				err = nil
			}
			return err
		},
		"read incidents": func(ctx context.Context, b *bus.Bus, _ string) error {
			err := b.FollowIncidents(ctx, 0, func(bus.Revision) error { return done })
			if errors.Is(err, done) {
				err = nil
			}
			return err
		},
		"save": func(ctx context.Context, b *bus.Bus, role string) error {
			i := info
			i.Engine = role
			return b.PutSnapshot(ctx, i, []byte("x"))
		},
		"read snapshots": func(ctx context.Context, b *bus.Bus, _ string) error { _, err := b.Snapshot(ctx, info); return err },
		"ask":            func(ctx context.Context, b *bus.Bus, _ string) error { _, err := b.Ask(ctx, "jobs", nil); return err },
		"deliver":        put(bus.Deliveries),
		"be present":     put(bus.Replicas),
		"create":         func(ctx context.Context, b *bus.Bus, _ string) error { return b.Create(ctx) },
	}
}

func put(bucket string) func(context.Context, *bus.Bus, string) error {
	return func(ctx context.Context, b *bus.Bus, role string) error {
		kv, err := b.KeyValue(ctx, bucket)
		if err != nil {
			return err
		}
		if _, err := kv.Put(ctx, role, []byte("x")); err != nil {
			return err
		}
		w, err := kv.WatchAll(ctx)
		if err != nil {
			return err
		}
		<-w.Updates()
		return w.Stop()
	}
}

// What a collector's key is good for, tried with NATS' own client.
func TestCollectorIsConfinedToItsRole(t *testing.T) {
	s := start(t, broker.Config{})
	if err := connect(t, s, broker.All).Create(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	c, err := s.Connection(broker.Collect("h1"))
	if err != nil {
		t.Fatal(err)
	}
	denied := make(chan error, 100)
	nc, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx := within(t, 20*time.Second)
	expect := func(what, subject string) {
		t.Helper()
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
				t.Errorf("%s: %v", what, err)
			}
		case <-ctx.Done():
			t.Errorf("%s: not refused", what)
		}
	}
	for _, subject := range []string{"quintet.v1.lab.h2.frames", "quintet.v1.lab.ticks", "quintet.v1.lab.config", "quintet.v1.lab.incidents.x.1",
		"quintet.v1.lab.ask.jobs", "quintet.v1.other.h1.frames", "$JS.API.STREAM.DELETE.quintet-lab-log", "$JS.API.STREAM.PURGE.quintet-lab-log",
		"$JS.API.STREAM.CREATE.x", "$JS.API.CONSUMER.CREATE.quintet-lab-log", "$JS.ACK.x", "$SYS.REQ.SERVER.PING", "_INBOX.other"} {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		expect("publish to "+subject, subject)
	}
	for _, subject := range []string{">", "quintet.v1.lab.>", "quintet.v1.lab.h1.frames", "_INBOX.>", "$SYS.>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		expect("subscribe to "+subject, fmt.Sprintf("%q", subject))
	}
	if err := nc.Publish("quintet.v1.lab.h1.frames", nil); err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	if len(denied) > 0 {
		t.Errorf("its own subject: %v", <-denied)
	}
}

// The connection that reads the log may not answer: the server would keep the reply
// subject of each message that it delivers for a minute, and search them all.
func TestOnlyAnsweringUsersRespond(t *testing.T) {
	s := start(t, broker.Config{})
	for _, role := range []broker.Role{broker.All, broker.Tick, broker.Engine, broker.Store, broker.Notify, broker.Web, broker.Collect("h1")} {
		c, err := s.Connection(role)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.SplitAfter(string(c.Credentials), "------END USER NKEY SEED------")
		answers := role == broker.All || role == broker.Engine
		for i, block := range blocks[:len(blocks)-1] {
			token, err := jwt.ParseDecoratedJWT([]byte(block))
			if err != nil {
				t.Fatal(err)
			}
			claims, err := jwt.DecodeUserClaims(token)
			if err != nil {
				t.Fatal(err)
			}
			if responds := claims.Resp != nil; responds != (i == 1) {
				t.Errorf("%s, user %d: may answer: %v", role, i, responds)
			}
			if i == 1 && (len(claims.Pub.Allow) != 1 || !strings.HasPrefix(claims.Pub.Allow[0], "_INBOX.")) {
				t.Errorf("%s: the user that answers may publish to %v", role, claims.Pub.Allow)
			}
		}
		if answers != (len(blocks) == 3) {
			t.Errorf("%s: %d users", role, len(blocks)-1)
		}
	}
}
