package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	encoding "encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// siegeAddress is where those without credentials attack from; others are at 127.0.0.1.
const siegeAddress = "127.0.0.66"

// siegeAttacks are the attacks of a siege. Each lasts until its context is done.
func siegeAttacks() map[string]func(context.Context, *siege) error {
	return map[string]func(context.Context, *siege) error{
		"flood of the log":                floodLog,
		"lies about a job":                lie,
		"clock of next year":              nextYear,
		"reply subjects":                  spoof,
		"connections with one credential": crowd,
		"connections":                     floodConnections,
		"slow bodies":                     slowBodies,
		"bombs":                           bombs,
	}
}

// siegeRefused is what is refused of which process.
func siegeRefused() map[string][]grants.Reason {
	return map[string][]grants.Reason{
		"flood": {grants.OverSeries, grants.OverEvents},
		"liar":  {grants.NoJob, grants.NoMaintenance, grants.NoEntity},
		"later": {grants.OverAhead},
		"spoof": {grants.NoEntity},
	}
}

// counted is by what line of /metrics each attack is counted.
func (g *siege) counted() map[string]func(siegeMetric) bool {
	line := func(name string, labels ...string) func(siegeMetric) bool {
		return func(m siegeMetric) bool {
			for _, l := range labels {
				if !strings.Contains(m.labels, l) {
					return false
				}
			}
			return m.name == name && (m.value > 0) != strings.HasSuffix(name, "_up")
		}
	}
	return map[string]func(siegeMetric) bool{
		"flood, series":      line("quintet_replica_records_over_budget_total", `process="flood"`, `reason="series"`),
		"flood, events":      line("quintet_replica_records_over_budget_total", `process="flood"`, `reason="events"`),
		"clock of next year": line("quintet_replica_records_over_budget_total", `process="later"`, `reason="ahead"`),
		"lies":               line("quintet_replica_records_ungranted_total", `reason="job"`),
		"crowd":              line("quintet_broker_connections_ended_total", `process="crowd"`),
		"connections":        line("quintet_serve_refused_total", `reason="connection"`),
		"bombs":              line("quintet_collectors_dropped_total", `collector="receive"`, `reason="over_limit"`),
		"the BMC":            line("quintet_collectors_target_up", `target="node:hostile"`),
		"the switch":         line("quintet_collectors_dropped_total", `collector="`+g.hostile+`"`, `reason="over_limit"`),
	}
}

// enrolled returns the credentials of a collecting process that was enrolled for the
// host of its name.
func (g *siege) enrolled(ctx context.Context, name string) ([]byte, error) {
	path := g.s.path(name + ".creds")
	if out, err := exec.CommandContext(ctx, g.s.program, "enroll", name, "--config", g.s.path("store.yaml"), "-o", path).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("enroll: %w: %s", err, out)
	}
	return os.ReadFile(path)
}

// connect connects as a process that was enrolled.
func (g *siege) connect(ctx context.Context, name string) (*bus.Bus, error) {
	creds, err := g.enrolled(ctx, name)
	if err != nil {
		return nil, err
	}
	return bus.Connect(ctx, bus.Config{Site: "site", Name: name, Servers: []string{"tls://" + g.s.log}, Credentials: creds})
}

// floodLog states new series of its own host, with a frame of each, as fast as the log
// takes them, and events behind them.
func floodLog(ctx context.Context, g *siege) error {
	const series, begun = 300, 450 // more than a process may have
	b, err := g.connect(ctx, "flood")
	if err != nil {
		return err
	}
	defer b.Close()
	words := make([]uint64, series)
	for n := 0; ctx.Err() == nil; n++ {
		if n >= begun {
			many := slices.Repeat([]*telemetry.Record{event(nodeOf("flood"), now(), telemetry.EventXID, "79")}, 100)
			if err := b.Append(ctx, "flood", many...); err != nil {
				return err
			}
			continue
		}
		schema := &telemetry.Schema{Source: telemetry.Source{Collector: "flood", Target: fmt.Sprint(n)}, Cadence: time.Second,
			Columns: []telemetry.Column{{Metric: "gpu_utilization_ratio", Type: telemetry.Float}}}
		for i := range series {
			schema.Entities = append(schema.Entities, telemetry.Entity{Kind: telemetry.GPU, Name: fmt.Sprintf("flood/%d-%d", n, i)})
		}
		feed, err := collectors.NewFeed(schema, uint64(now()))
		if err != nil {
			return err
		}
		frame, err := feed.Frame(telemetry.Instant{Source: now(), Received: now()}, words, nil)
		if err != nil {
			return err
		}
		if err := b.Append(ctx, "flood", feed.Schema(), frame); err != nil {
			return err
		}
	}
	return nil
}

func event(x telemetry.Entity, at telemetry.Time, name telemetry.EventName, text string) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: x, At: at, Received: now(), Name: name, Text: text,
		Source: telemetry.Source{Collector: "siege", Target: x.Name}}}
}

func nodeOf(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }

// lie publishes that a job of others fails and takes ever longer steps, and that the host
// of the GPU that will be slow is in maintenance, which would mute its notification.
func lie(ctx context.Context, g *siege) error {
	b, err := g.connect(ctx, "liar")
	if err != nil {
		return err
	}
	defer b.Close()
	host, _, _ := strings.Cut(g.gpu.Name, "/")
	feed, err := collectors.NewFeed(&telemetry.Schema{Source: telemetry.Source{Collector: "siege", Target: "liar"}, Cadence: time.Second,
		Entities: []telemetry.Entity{g.victim}, Columns: []telemetry.Column{{Metric: "job_step_seconds", Type: telemetry.Float}}}, uint64(now()))
	if err != nil {
		return err
	}
	for n := 1; ctx.Err() == nil; n++ {
		slow, err := feed.Frame(telemetry.Instant{Source: now(), Received: now()}, []uint64{math.Float64bits(float64(100 * n))}, nil)
		if err != nil {
			return err
		}
		if err := b.Append(ctx, "liar", feed.Schema(), slow, event(g.victim, now(), telemetry.EventJobFailed, "out of memory"),
			event(nodeOf(host), now(), telemetry.EventMaintenanceStarted, ""), event(g.gpu, now(), telemetry.EventXID, "79")); err != nil {
			return err
		}
		pause(ctx, 200*time.Millisecond)
	}
	return nil
}

// nextYear states events of its own host, a year ahead.
func nextYear(ctx context.Context, g *siege) error {
	b, err := g.connect(ctx, "later")
	if err != nil {
		return err
	}
	defer b.Close()
	for ctx.Err() == nil {
		r := event(nodeOf("later"), now().Add(telemetry.Duration(365*24*time.Hour)), telemetry.EventXID, "79")
		r.Event.Received = r.Event.At
		if err := b.Append(ctx, "later", r); err != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
	return nil
}

// client connects NATS' own client as a process that was enrolled: it sends what ours
// does not.
func (g *siege) client(creds []byte) (*nats.Conn, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(creds[strings.Index(string(creds), "-----BEGIN CERTIFICATE"):])
	return nats.Connect("tls://"+g.s.log, nats.UserCredentialBytes(creds), nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}),
		nats.CustomInboxPrefix("_INBOX."+bus.UserOf(creds)), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), nats.NoReconnect())
}

// spoof states events of a host of others and names as reply subjects what it may not
// write to, and publishes there, too.
func spoof(ctx context.Context, g *siege) error {
	creds, err := g.enrolled(ctx, "spoof")
	if err != nil {
		return err
	}
	nc, err := g.client(creds)
	if err != nil {
		return err
	}
	defer nc.Close()
	body, err := telemetry.AppendRecord(nil, event(g.gpu, now(), telemetry.EventXID, "79"))
	if err != nil {
		return err
	}
	const root = "quintet.v1.site."
	for n := 1; ctx.Err() == nil; n++ {
		for _, to := range []string{root + fmt.Sprint("incidents.inc-", n, ".1"), root + fmt.Sprint("alerts.a-", n, ".1"), root + "ticks", root + "config", root + "liar.events",
			"$KV.quintet-site-silences.x", "$JS.API.STREAM.DELETE.quintet-site-log", "$JS.API.STREAM.PURGE.quintet-site-incidents"} {
			if err := errors.Join(nc.PublishRequest(root+"spoof.events", to, body), nc.Publish(to, body)); err != nil {
				return err
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
	return nil
}

// crowd connects again and again with one credential, and keeps what it gets.
func crowd(ctx context.Context, g *siege) error {
	creds, err := g.enrolled(ctx, "crowd")
	if err != nil {
		return err
	}
	var open []*nats.Conn
	defer func() {
		for _, nc := range open {
			nc.Close()
		}
	}()
	for ctx.Err() == nil {
		open = slices.DeleteFunc(open, func(nc *nats.Conn) bool { return nc.IsClosed() })
		nc, err := g.client(creds)
		if err == nil {
			open = append(open, nc)
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// from connects from the attacker's address.
func from() *net.Dialer {
	return &net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(siegeAddress)}}
}

// floodConnections opens connections that send nothing and keeps them.
func floodConnections(ctx context.Context, g *siege) error {
	const most = 3000
	var open []net.Conn
	release := func() {
		for _, c := range open {
			c.Close()
		}
		open = nil
	}
	defer release()
	for ctx.Err() == nil {
		if len(open) == most {
			pause(ctx, time.Second)
			release()
		}
		c, err := from().DialContext(ctx, "tcp", g.page)
		if err != nil {
			pause(ctx, 10*time.Millisecond)
			continue
		}
		open = append(open, c)
	}
	return nil
}

// slowBodies sends many large bodies, a byte a second.
func slowBodies(ctx context.Context, g *siege) error {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range 32 {
		path := []string{"/api/v1/write", "/v1/metrics", "/api/v1/events", "/api/v2/alerts"}[i%4]
		all.Go(func() {
			for ctx.Err() == nil {
				slowBody(ctx, g.page, path)
				pause(ctx, time.Second)
			}
		})
	}
	return nil
}

// slowBody sends one until the connection ends.
func slowBody(ctx context.Context, address, path string) {
	c, err := from().DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", path)
	for err == nil && ctx.Err() == nil {
		_, err = io.WriteString(c, "{")
		pause(ctx, time.Second)
	}
}

// bomb is a body that is small packed and large unpacked, or deeply nested.
type bomb struct {
	path, kind, packed string
	body               []byte
}

func newBombs() ([]bomb, error) {
	zeros := make([]byte, 64<<20)
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		return nil, err
	}
	for _, w := range []io.WriteCloser{g, z} {
		if _, err := w.Write(zeros); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
	}
	const proto = "application/x-protobuf"
	gzips := bytes.Repeat(gz.Bytes(), 4<<20/gz.Len()) // members follow each other
	zstds := bytes.Repeat(zs.Bytes(), 4<<20/zs.Len()) // and frames
	return []bomb{
		{"/v1/metrics", proto, "gzip", gzips},
		{"/v1/metrics", proto, "zstd", zstds},
		{"/api/v1/write", proto, "zstd", zstds},
		{"/api/v1/write", proto, "snappy", append(encoding.AppendUvarint(nil, 1<<32-1), make([]byte, 4<<20)...)},
		{"/v1/metrics", "application/json", "", []byte(strings.Repeat(`{"resourceMetrics":[`, 200_000))},
	}, nil
}

// bombs sends them, one after the other. One that is taken is an error.
func bombs(ctx context.Context, g *siege) error {
	all, err := newBombs()
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: from().DialContext, DisableKeepAlives: true}}
	for n := 0; ctx.Err() == nil; n++ {
		b := all[n%len(all)]
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.page+b.path, bytes.NewReader(b.body))
		if err != nil {
			return err
		}
		q.Header.Set("Content-Type", b.kind)
		if b.packed != "" {
			q.Header.Set("Content-Encoding", b.packed)
		}
		resp, err := client.Do(q)
		if err != nil {
			continue // its address has too many connections
		}
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			return fmt.Errorf("%s, %s: answered %s", b.path, b.packed, resp.Status)
		}
	}
	return nil
}

// hostileBMC starts a BMC that answers every request without end, and returns its
// entry of the configuration.
func hostileBMC(s *site) map[string]any {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for block := bytes.Repeat([]byte(" "), 1<<20); r.Context().Err() == nil; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	s.t.Cleanup(server.Close)
	s.write("password", "x\n")
	return map[string]any{"address": strings.TrimPrefix(server.URL, "https://"), "entity": "node:hostile", "user": "x", "password_file": s.path("password"),
		"tls": map[string]any{"insecure_skip_verify": true}}
}

// endless is a switch that sends ports without end.
type endless struct {
	gpb.UnimplementedGNMIServer
}

func (endless) Subscribe(st gpb.GNMI_SubscribeServer) error {
	name := strings.Repeat("x", 1000)
	for n := 0; ; {
		out := &gpb.Notification{Timestamp: time.Now().UnixNano()}
		for range 1000 {
			n++
			out.Update = append(out.Update, &gpb.Update{Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1}}, Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "interfaces"},
				{Name: "interface", Key: map[string]string{"name": fmt.Sprint(name, n)}}, {Name: "state"}, {Name: "counters"}, {Name: "in-octets"}}}})
		}
		if err := st.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: out}}); err != nil {
			return err
		}
	}
}

// hostileSwitch starts one and returns its entry of the configuration.
func hostileSwitch(s *site) map[string]any {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	server := grpc.NewServer()
	gpb.RegisterGNMIServer(server, endless{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends by Stop
	}()
	s.t.Cleanup(func() { server.Stop(); <-ended })
	return map[string]any{"targets": []map[string]any{{"address": l.Addr().String(), "name": "hostile"}}, "profile": "openconfig", "plaintext": true}
}
