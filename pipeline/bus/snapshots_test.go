package bus_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

func snapshotAt(n int, engine string) bus.SnapshotInfo {
	return bus.SnapshotInfo{Position: uint64(n), Tick: at(n), Engine: engine, Rules: "rules"}
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	s, all := site(t)
	ctx := within(t, 30*time.Second)
	if got, err := all.Snapshots(ctx); len(got) != 0 || err != nil {
		t.Errorf("no snapshots: %v, %v", got, err)
	}
	b := join(t, s, broker.Engine)
	body := func(n int) []byte { return bytes.Repeat([]byte{byte(n), 1, 2}, 100_000) }
	for n := range 40 {
		if err := b.PutSnapshot(ctx, snapshotAt(n, "e1"), body(n)); err != nil {
			t.Fatal(err)
		}
	}
	// A second one of a tick changes nothing; that of another engine does.
	if err := b.PutSnapshot(ctx, snapshotAt(39, "e1"), []byte("other")); err != nil {
		t.Fatal(err)
	}
	if err := b.PutSnapshot(ctx, snapshotAt(39, "e2"), nil); err != nil {
		t.Fatal(err)
	}
	got, err := b.Snapshots(ctx)
	if err != nil || len(got) != 30 || got[29].Tick != at(11) {
		t.Fatalf("%d snapshots, %v: %+v", len(got), err, got)
	}
	for _, i := range got {
		want := body(int(i.Position))
		if i.Engine == "e2" {
			want = nil
		}
		data, err := b.Snapshot(ctx, i)
		if err != nil || !bytes.Equal(data, want) || i.Size != uint64(len(want)) || i.Rules != "rules" {
			t.Errorf("snapshot %+v: %d bytes, %v", i, len(data), err)
		}
	}
	if _, err := b.Snapshot(ctx, snapshotAt(3, "e1")); !errors.Is(err, bus.ErrNotRetained) {
		t.Errorf("a snapshot that was removed: %v", err)
	}
	asObjects(t, s, got, body)
}

// asObjects reads the same with NATS' own object store, and counts the messages
// left in the stream.
func asObjects(t *testing.T, s *broker.Server, infos []bus.SnapshotInfo, body func(int) []byte) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	js := raw(t, s)
	store, err := js.ObjectStore(ctx, "quintet-lab-snapshots")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := store.List(ctx)
	if err != nil || len(objects) != len(infos) {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	data, err := store.GetBytes(ctx, objects[0].Name)
	if err != nil || !bytes.Equal(data, body(11)) {
		t.Errorf("object %s: %d bytes, %v", objects[0].Name, len(data), err)
	}
	st, err := js.Stream(ctx, "OBJ_quintet-lab-snapshots")
	if err != nil {
		t.Fatal(err)
	}
	if n := st.CachedInfo().State.Msgs; n != 30+29*3 { // a description each, three chunks but for the empty one
		t.Errorf("%d messages in the stream", n)
	}
}

// raw is a connection that only NATS' own client knows.
func raw(t *testing.T, s *broker.Server) jetstream.JetStream {
	t.Helper()
	c, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	user := jwtSubject(t, c.Credentials)
	nc, err := nats.Connect("", nats.InProcessServer(c.InProcess), nats.UserCredentialBytes(c.Credentials), nats.CustomInboxPrefix("_INBOX."+user))
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
