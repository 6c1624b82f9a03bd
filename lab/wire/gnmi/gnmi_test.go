package gnmi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/telemetry"
)

// bench is a fleet and a client of one of its switches.
type bench struct {
	gpb.GNMIClient
	t     *testing.T
	fleet *Fleet
	site  *live.Site
}

const leaf0 = "p0-leaf00"

func newBench(t *testing.T, c Config) *bench {
	t.Helper()
	site, err := live.New(16, 3, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.Dir = t.TempDir()
	f, err := New(site.Board(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	ca, err := os.ReadFile(f.CA())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("no certificate in the file of the authority")
	}
	conn, err := grpc.NewClient(f.Device(leaf0).Address(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		cancel()
		all.Wait()
	})
	return &bench{GNMIClient: gpb.NewGNMIClient(conn), t: t, fleet: f, site: site}
}

func path(s string) *gpb.Path {
	p := &gpb.Path{}
	for _, x := range strings.Split(strings.Trim(s, "/"), "/") {
		name, key, ok := strings.Cut(x, "[")
		e := &gpb.PathElem{Name: name}
		if ok {
			k, v, _ := strings.Cut(strings.TrimSuffix(key, "]"), "=")
			e.Key = map[string]string{k: strings.ReplaceAll(v, "|", "/")}
		}
		p.Elem = append(p.Elem, e)
	}
	return p
}

// subscribe begins a subscription of one path.
func (b *bench) subscribe(ctx context.Context, l *gpb.SubscriptionList) gpb.GNMI_SubscribeClient {
	b.t.Helper()
	st, err := b.Subscribe(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := st.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: l}}); err != nil {
		b.t.Fatal(err)
	}
	return st
}

// toSync receives up to the sync response and returns how many updates there
// were.
func toSync(t *testing.T, st gpb.GNMI_SubscribeClient) (updates int) {
	t.Helper()
	for {
		r, err := st.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if r.GetSyncResponse() {
			return updates
		}
		updates += len(r.GetUpdate().GetUpdate())
	}
}

func code(st gpb.GNMI_SubscribeClient) codes.Code {
	_, err := st.Recv()
	return status.Code(err)
}

const countersOf = "/interfaces/interface[name=*]/state/counters"

// TestModes: ONCE sends everything and ends, POLL sends it on each request, STREAM
// goes on.
func TestModes(t *testing.T) {
	b := newBench(t, Config{Dialect: OpenConfig})
	list := func(m gpb.SubscriptionList_Mode) *gpb.SubscriptionList {
		return &gpb.SubscriptionList{Mode: m, Encoding: gpb.Encoding_PROTO, Subscription: []*gpb.Subscription{{Path: path(countersOf), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: 2e8}}}
	}
	once := b.subscribe(t.Context(), list(gpb.SubscriptionList_ONCE))
	all := toSync(t, once)
	if all < 8 {
		t.Errorf("ONCE tells %d counters of two ports", all)
	}
	if _, err := once.Recv(); err != io.EOF {
		t.Errorf("after ONCE: %v", err)
	}
	poll := b.subscribe(t.Context(), list(gpb.SubscriptionList_POLL))
	for range 3 {
		if n := toSync(t, poll); n != all {
			t.Errorf("POLL tells %d, ONCE %d", n, all)
		}
		if err := poll.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}}); err != nil {
			t.Fatal(err)
		}
	}
	stream := b.subscribe(t.Context(), list(gpb.SubscriptionList_STREAM))
	if n := toSync(t, stream); n != all {
		t.Errorf("STREAM begins with %d, ONCE %d", n, all)
	}
	for n := 0; n < 2*all; {
		r, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		n += len(r.GetUpdate().GetUpdate())
	}
	only := list(gpb.SubscriptionList_STREAM)
	only.UpdatesOnly = true
	if n := toSync(t, b.subscribe(t.Context(), only)); n != 0 {
		t.Errorf("updates_only begins with %d updates", n)
	}
}

// TestChangesAlone: ON_CHANGE and suppress_redundant send what has changed, a
// heartbeat everything, and a port that goes is a delete.
func TestChangesAlone(t *testing.T) {
	b := newBench(t, Config{Dialect: OpenConfig})
	oper := func(s *gpb.Subscription) *gpb.SubscriptionList {
		s.Path = path("/interfaces/interface[name=*]/state/oper-status")
		return &gpb.SubscriptionList{Encoding: gpb.Encoding_PROTO, Subscription: []*gpb.Subscription{s}}
	}
	beating := b.subscribe(t.Context(), oper(&gpb.Subscription{Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: 1e8, SuppressRedundant: true, HeartbeatInterval: 3e8}))
	first := toSync(t, beating)
	if r, err := beating.Recv(); err != nil || len(r.GetUpdate().GetUpdate()) != 1 {
		t.Errorf("a heartbeat: %v %v", r, err)
	}
	st := b.subscribe(t.Context(), oper(&gpb.Subscription{Mode: gpb.SubscriptionMode_ON_CHANGE}))
	if n := toSync(t, st); n != first || n != 2 {
		t.Errorf("%d ports, %d with samples", n, first)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.site.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	port := telemetry.Entity{Kind: telemetry.Port, Name: leaf0 + "/eth1"}
	b.fleet.Device(leaf0).Unplug(port, true)
	r, err := st.Recv()
	if err != nil || len(r.GetUpdate().GetDelete()) != 1 {
		t.Fatalf("want a delete: %v %v", r, err)
	}
	b.fleet.Device(leaf0).Unplug(port, false)
	if r, err = st.Recv(); err != nil || len(r.GetUpdate().GetUpdate()) != 1 {
		t.Fatalf("want the port again: %v %v", r, err)
	}
}

// TestRefusals: each dialect refuses what its switches do, with their code.
func TestRefusals(t *testing.T) {
	for _, x := range []struct {
		dialect string
		list    *gpb.SubscriptionList
		want    codes.Code
	}{
		{OpenConfig, &gpb.SubscriptionList{Encoding: gpb.Encoding_BYTES, Subscription: []*gpb.Subscription{{Path: path(countersOf)}}}, codes.Unimplemented},
		{OpenConfig, &gpb.SubscriptionList{Encoding: gpb.Encoding_JSON_IETF, Subscription: []*gpb.Subscription{{Path: path("/no/such/path")}}}, codes.NotFound},
		{OpenConfig, &gpb.SubscriptionList{Encoding: gpb.Encoding_JSON_IETF}, codes.InvalidArgument},
		{Cumulus, &gpb.SubscriptionList{Encoding: gpb.Encoding_JSON_IETF, Subscription: []*gpb.Subscription{{Path: path(countersOf)}}}, codes.Unimplemented},
		{Cumulus, &gpb.SubscriptionList{Encoding: gpb.Encoding_PROTO, Subscription: []*gpb.Subscription{{Path: path("/interfaces/interface[name=swp*]/state"), Mode: gpb.SubscriptionMode_SAMPLE}}}, codes.InvalidArgument},
		{SONiC, &gpb.SubscriptionList{Encoding: gpb.Encoding_JSON_IETF, Subscription: []*gpb.Subscription{{Path: path("COUNTERS/Ethernet*"), Mode: gpb.SubscriptionMode_SAMPLE}}}, codes.Unimplemented},
		{SONiC, &gpb.SubscriptionList{Prefix: &gpb.Path{Target: "COUNTERS_DB"}, Encoding: gpb.Encoding_JSON_IETF, Subscription: []*gpb.Subscription{{Path: path("COUNTERS/Ethernet*")}}}, codes.InvalidArgument},
		{SONiC, &gpb.SubscriptionList{Prefix: &gpb.Path{Target: "COUNTERS_DB"}, Encoding: gpb.Encoding_JSON_IETF,
			Subscription: []*gpb.Subscription{{Path: path("COUNTERS/Ethernet*"), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: 5e8}}}, codes.InvalidArgument},
	} {
		t.Run(fmt.Sprintf("%s %s", x.dialect, x.want), func(t *testing.T) {
			b := newBench(t, Config{Dialect: x.dialect})
			if got := code(b.subscribe(t.Context(), x.list)); got != x.want {
				t.Errorf("%v, want %v", got, x.want)
			}
		})
	}
}

// TestGet answers with the site's own numbers, as a SONiC's row, a leaf, a tree;
// Cumulus has none, and Set is refused.
func TestGet(t *testing.T) {
	want := func(b *board.Board) string {
		r, ok := b.Read(telemetry.Entity{Kind: telemetry.Port, Name: leaf0 + "/eth2"}, "port_tx_bytes_total")
		if !ok {
			t.Fatal("the site has no such counter")
		}
		return fmt.Sprint(r.Uint())
	}
	get := func(b *bench, r *gpb.GetRequest) any {
		t.Helper()
		out, err := b.Get(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(out.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal(), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	s := newBench(t, Config{Dialect: SONiC})
	db := &gpb.Path{Target: "COUNTERS_DB"}
	v := get(s, &gpb.GetRequest{Prefix: db, Path: []*gpb.Path{path("COUNTERS/Ethernet4")}, Encoding: gpb.Encoding_JSON_IETF})
	if got := v.(map[string]any)["SAI_PORT_STAT_IF_OUT_OCTETS"]; got != want(s.site.Board()) {
		t.Errorf("SONiC tells %v", got)
	}
	v = get(s, &gpb.GetRequest{Prefix: db, Path: []*gpb.Path{path("COUNTERS/Ethernet*/SAI_PORT_STAT_IF_OUT_OCTETS")}, Encoding: gpb.Encoding_JSON_IETF})
	if got := v.(map[string]any)["Ethernet4"].(map[string]any)["SAI_PORT_STAT_IF_OUT_OCTETS"]; got != want(s.site.Board()) {
		t.Errorf("a field of all ports: %v", v)
	}
	names := get(s, &gpb.GetRequest{Prefix: db, Path: []*gpb.Path{path("COUNTERS_PORT_NAME_MAP")}, Encoding: gpb.Encoding_JSON_IETF}).(map[string]any)
	if len(names) != 2 || !strings.HasPrefix(fmt.Sprint(names["Ethernet0"]), "oid:0x1") {
		t.Errorf("names: %v", names)
	}
	o := newBench(t, Config{Dialect: OpenConfig})
	v = get(o, &gpb.GetRequest{Path: []*gpb.Path{path("/interfaces/interface[name=Ethernet2|1]/state/counters")}, Encoding: gpb.Encoding_JSON_IETF})
	if got := v.(map[string]any)["out-octets"]; got != want(o.site.Board()) {
		t.Errorf("OpenConfig tells %v", v)
	}
	if _, err := newBench(t, Config{Dialect: Cumulus}).Get(t.Context(), &gpb.GetRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("Cumulus: %v", err)
	}
	if _, err := o.Set(t.Context(), &gpb.SetRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("Set: %v", err)
	}
	caps, err := o.Capabilities(t.Context(), &gpb.CapabilityRequest{})
	if err != nil || !slices.Contains(caps.GetSupportedEncodings(), gpb.Encoding_PROTO) {
		t.Errorf("%v %v", caps, err)
	}
}

// TestAMixedFleet deals the dialects out, and lists how each is read.
func TestAMixedFleet(t *testing.T) {
	b := newBench(t, Config{})
	if n := len(b.fleet.Addresses()); n != 24 {
		t.Errorf("%d switches", n)
	}
	targets := 0
	for _, e := range b.fleet.Entries() {
		targets += len(e["targets"].([]any))
	}
	if n := len(b.fleet.Entries()); n != 3 || targets != 24 {
		t.Errorf("%d entries with %d targets", n, targets)
	}
}
