package bus_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// cluster is three external servers: a site with its own NATS.
func cluster(t *testing.T) []*nats.Server {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: wiretest.FreeAddress(t)})
	}
	var out []*nats.Server
	for i, r := range routes {
		o := &nats.Options{ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: nats.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true,
			StoreDir: t.TempDir(), MaxPayload: 8 << 20, Routes: routes,
			JetStreamMaxStore: 512 << 20} // less than the default log: a disk with little room
		o.Cluster.Name, o.Cluster.Host = "site", "127.0.0.1"
		if _, err := fmt.Sscan(r.Port(), &o.Cluster.Port); err != nil {
			t.Fatal(err)
		}
		s, err := nats.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		out = append(out, s)
	}
	return out
}

// A disk with room for the default log and nothing more: the log is smaller, and there is
// room for the kept changes, which have a size of their own.
func TestTheLogLeavesRoomForTheKeptChanges(t *testing.T) {
	t.Parallel()
	ctx := within(t, 30*time.Second)
	s, err := nats.NewServer(&nats.Options{Host: "127.0.0.1", Port: nats.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: t.TempDir(), MaxPayload: 8 << 20, JetStreamMaxStore: bus.DefaultRetainBytes + 1<<20})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("not ready")
	}
	b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: "test", Servers: []string{s.ClientURL()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Create(ctx); err != nil {
		t.Error(err)
	}
}

// Two of three servers carry on, and nothing is skipped or repeated. Their disks
// have too little room for the default size of the log, so that it is smaller.
func TestCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers take seconds to elect a leader")
	}
	servers := cluster(t)
	ctx := within(t, 90*time.Second)
	var urls []string
	for _, s := range servers {
		if !s.ReadyForConnections(30 * time.Second) {
			t.Fatal("not ready")
		}
		urls = append(urls, s.ClientURL())
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	// A leader places replicas only on the servers that it knows.
	complete := func(s *nats.Server) bool {
		return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers)
	}
	for !slices.ContainsFunc(servers, complete) {
		receive(ctx, t, look.C)
	}
	b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: "test", Servers: urls, Copies: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	const n = 600
	seen, followed := make(chan bus.Entry, n), make(chan error, 1)
	go func() {
		count := 0
		followed <- b.Follow(ctx, 0, func(e bus.Entry) error {
			seen <- e
			if count++; count == n {
				return errEnough
			}
			return nil
		})
	}()
	f := newFrames(t)
	for i := range n {
		if i == n/2 {
			for _, s := range servers { // the one that leads the log, if it can be told
				if s.JetStreamIsStreamLeader("$G", "quintet-lab-log") {
					s.Shutdown()
					break
				}
			}
		}
		if err := b.Append(ctx, "h1", f.record(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		e := receive(ctx, t, seen)
		h, err := e.Record.Frame.Header()
		if err != nil || e.Position != uint64(i+1) || h.Sequence != uint64(i) {
			t.Fatalf("entry %d: position %d, frame %d, %v", i, e.Position, h.Sequence, err)
		}
	}
	if err := receive(ctx, t, followed); !errors.Is(err, errEnough) {
		t.Error(err)
	}
}
