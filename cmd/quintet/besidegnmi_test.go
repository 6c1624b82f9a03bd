package main

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The sender of BenchmarkGNMIBeside: so many switches, so many ports each, a
// notification of 25 updates from each port every second.
const (
	senderTargets = 8
	senderPorts   = 64
	senderUpdates = 25
	leastUpdates  = 100_000 // for a figure that says something
)

// BenchmarkGNMIBeside measures the CPU time from a notification to its publication:
// of quintet collect, over TLS into the log; of gnmic, as events into /dev/null; of
// Telegraf, into its discard output. All receive from the same sender at once,
// without TLS.
func BenchmarkGNMIBeside(b *testing.B) {
	for b.Loop() {
		s := newSite(b, 4)
		s.startStore()
		s.enrolled()
		ours := newSender(b)
		s.write("collect.yaml", "data: "+s.path("host")+"\n"+s.elsewhere(s.log)+"collectors: {gnmi: [{profile: openconfig, plaintext: true, targets: ["+
			ours.list("{name: leaf%d, address: %q}", ", ")+"]}]}\n")
		all := map[string]*process{"quintet": s.start("collect", "--config", s.path("collect.yaml"))}
		senders := map[string]*sender{"quintet": ours}
		if path := peer(b, "gnmic"); path != "" {
			from := newSender(b)
			s.write("gnmic.yaml", "insecure: true\nusername: x\npassword: x\ntargets: {"+from.list("leaf%d: {address: %q}", ", ")+"}\n"+
				"subscriptions: {s: {paths: [/interfaces/interface/state/counters], mode: stream, stream-mode: sample, sample-interval: 1s}}\n"+
				"outputs: {o: {type: file, filename: /dev/null, format: event}}\n")
			all["gnmic"], senders["gnmic"] = s.run(path, "--config", s.path("gnmic.yaml"), "subscribe"), from
		}
		if path := peer(b, "telegraf"); path != "" {
			from := newSender(b)
			var addresses []string
			for _, a := range from.addresses {
				addresses = append(addresses, fmt.Sprintf("%q", a))
			}
			s.write("telegraf.conf", "[agent]\nflush_interval = \"1s\"\nmetric_batch_size = 10000\nmetric_buffer_limit = 100000\nquiet = true\n[[outputs.discard]]\n"+
				"[[inputs.gnmi]]\naddresses = ["+strings.Join(addresses, ", ")+"]\nencoding = \"proto\"\n[[inputs.gnmi.subscription]]\nname = \"counters\"\n"+
				"origin = \"openconfig\"\npath = \"/interfaces/interface/state/counters\"\nsubscription_mode = \"sample\"\nsample_interval = \"1s\"\n")
			all["telegraf"], senders["telegraf"] = s.run(path, "--config", s.path("telegraf.conf")), from
		}
		pause(b.Context(), besideSettle)
		before := map[string]int64{}
		for name, x := range senders {
			before[name] = x.sent.Load()
		}
		began := time.Now()
		took := watch(b, all, besideWatch)
		length := time.Since(began)
		cost := map[string]float64{} // µs an update
		for name, x := range senders {
			updates := float64(x.sent.Load() - before[name])
			if updates < leastUpdates { // on a busy machine some do not keep up
				b.Errorf("%s took %.0f updates: %s", name, updates, tail(all[name].said.String(), 500))
			}
			b.ReportMetric(updates/length.Seconds(), name+"-updates/s")
			cost[name] = took[name].share * length.Seconds() * 1e6 / updates
			b.ReportMetric(cost[name], name+"-cpu-µs/update")
			b.ReportMetric(took[name].most, name+"-RssAnon-MB")
		}
		for name := range senders {
			if name != "quintet" {
				b.ReportMetric(cost["quintet"]/cost[name], "of-"+name)
			}
		}
		if heard, want := s.stored(b)["gnmi"], float64(ours.sent.Load())*15/senderUpdates; heard < 0.9*want {
			b.Errorf("%.0f samples are in the log, want %.0f: the profile knows 15 of the 25", heard, want)
		}
		b.ReportMetric(0, "ns/op")
	}
}

// sender is a set of switches that report their counters every second.
type sender struct {
	gpb.UnimplementedGNMIServer
	addresses []string
	sent      atomic.Int64 // updates

	mu   sync.Mutex
	made [][]byte      // what is told this second
	next chan struct{} // closed when the next is made
}

func newSender(b *testing.B) *sender {
	b.Helper()
	x := &sender{next: make(chan struct{})}
	server := grpc.NewServer(grpc.ForceServerCodecV2(sentCodec{}))
	gpb.RegisterGNMIServer(server, x)
	for range senderTargets {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		x.addresses = append(x.addresses, l.Addr().String())
		go func() { _ = server.Serve(l) }() // until Stop
	}
	b.Cleanup(server.Stop)
	go func() {
		for n := uint64(0); b.Context().Err() == nil; n++ {
			x.make(b, n)
			pause(b.Context(), time.Second)
		}
	}()
	return x
}

// list writes something of each target, by its number and address.
func (x *sender) list(form, between string) string {
	var out []string
	for i, a := range x.addresses {
		out = append(out, fmt.Sprintf(form, i+1, a))
	}
	return strings.Join(out, between)
}

// make makes what every switch reports in the n-th second.
func (x *sender) make(b *testing.B, n uint64) {
	names := strings.Fields("in-octets out-octets in-pkts out-pkts in-unicast-pkts out-unicast-pkts in-multicast-pkts out-multicast-pkts " +
		"in-broadcast-pkts out-broadcast-pkts in-discards out-discards in-errors in-fcs-errors carrier-transitions")
	for i := len(names); i < senderUpdates; i++ {
		names = append(names, fmt.Sprintf("vendor-%d", i))
	}
	var made [][]byte
	for port := range senderPorts {
		elems := []*gpb.PathElem{{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": fmt.Sprintf("Ethernet%d", port)}}, {Name: "state"}, {Name: "counters"}}
		told := &gpb.Notification{Timestamp: time.Now().UnixNano(), Prefix: &gpb.Path{Elem: elems}}
		for i, leaf := range names {
			told.Update = append(told.Update, &gpb.Update{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: leaf}}},
				Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1e12 + n*uint64(1e6+i*port)}}})
		}
		m, err := proto.Marshal(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: told}})
		if err != nil {
			b.Error(err)
		}
		made = append(made, m)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.next)
	x.made, x.next = made, make(chan struct{})
}

// Subscribe sends a client the counters until it disconnects, and answers not found
// to any other path.
func (x *sender) Subscribe(st gpb.GNMI_SubscribeServer) error {
	r, err := st.Recv()
	if err != nil {
		return err
	}
	if !strings.Contains(r.String(), `"counters"`) {
		return status.Error(codes.NotFound, "no such path")
	}
	for {
		x.mu.Lock()
		next := x.next
		x.mu.Unlock()
		select {
		case <-next:
		case <-st.Context().Done():
			return nil
		}
		x.mu.Lock()
		made := x.made
		x.mu.Unlock()
		for _, m := range made {
			if err := st.SendMsg(sentMessage(m)); err != nil {
				return err
			}
			x.sent.Add(senderUpdates)
		}
	}
}

// sentMessage is a message that was made already.
type sentMessage []byte

// sentCodec sends bytes as they are.
type sentCodec struct{}

func (sentCodec) Name() string { return "proto" }

func (sentCodec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(sentMessage); ok {
		return mem.BufferSlice{mem.SliceBuffer(m)}, nil
	}
	m, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(m)}, err
}

func (sentCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}
