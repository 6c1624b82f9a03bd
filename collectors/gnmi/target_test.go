package gnmi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// target is a gNMI server that sends what a test defines.
type target struct {
	gpb.UnimplementedGNMIServer
	t       *testing.T
	address string
	creds   credentials.TransportCredentials

	mu      sync.Mutex
	server  *grpc.Server
	calls   int // Subscribes that began
	open    atomic.Int32
	answer  func(st gpb.GNMI_SubscribeServer, r *gpb.SubscribeRequest) error
	stopped chan struct{}
}

func newTarget(t *testing.T, answer func(gpb.GNMI_SubscribeServer, *gpb.SubscribeRequest) error) *target {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shape := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, shape, shape, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	x := &target{t: t, address: "127.0.0.1:0", answer: answer,
		creds: credentials.NewServerTLSFromCert(&tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})}
	x.start()
	t.Cleanup(x.stop)
	return x
}

func (x *target) start() {
	x.mu.Lock()
	defer x.mu.Unlock()
	l, err := net.Listen("tcp", x.address)
	if err != nil {
		x.t.Error(err)
		return
	}
	x.address = l.Addr().String()
	server := grpc.NewServer(grpc.Creds(x.creds))
	gpb.RegisterGNMIServer(server, x)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = server.Serve(counted{l, &x.open}) // ends by stop
	}()
	x.server, x.stopped = server, stopped
}

// counted counts the connections that are open.
type counted struct {
	net.Listener
	open *atomic.Int32
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { c.open.Add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.closed()
	return err
}

// settled is a collector whose Run returns when the target has noticed too: its
// ends of the connections are of this process.
type settled struct {
	*Collector
	target *target
}

func (s settled) Run(ctx context.Context, sink collectors.Sink) error {
	err := s.Collector.Run(ctx, sink)
	for range 80 {
		if s.target.open.Load() == 0 {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	return err
}

func (x *target) stop() {
	x.mu.Lock()
	server, stopped := x.server, x.stopped
	x.server = nil
	x.mu.Unlock()
	if server != nil {
		server.Stop()
		<-stopped
	}
}

func (x *target) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{SupportedEncodings: []gpb.Encoding{gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO}}, nil
}

func (x *target) Subscribe(st gpb.GNMI_SubscribeServer) error {
	r, err := st.Recv()
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.calls++
	answer := x.answer
	x.mu.Unlock()
	return answer(st, r)
}

func (x *target) subscribed() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.calls
}

// quickPace is pace for tests.
func quickPace() pace {
	p := usualPace()
	p.first, p.brief, p.most = 10*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond
	p.together, p.sweep, p.restate = 5*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	return p
}

// reads returns a collector of targets.
func reads(t *testing.T, profile string, at ...*target) *Collector {
	t.Helper()
	c := Config{Profile: profile, TLS: dial.TLS{Unverified: true}}
	for i, x := range at {
		c.Targets = append(c.Targets, Target{Address: x.address, Name: fmt.Sprintf("leaf%d", i+1)})
	}
	out, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	out.pace = quickPace()
	return out
}

// octets is a notification of some ports' octets.
func octets(ports int, v uint64) *gpb.SubscribeResponse {
	n := &gpb.Notification{Timestamp: time.Now().UnixNano()}
	for i := range ports {
		p, err := parsePath(fmt.Sprintf("/interfaces/interface[name=Ethernet%d]/state/counters/in-octets", i+1))
		if err != nil {
			panic(err)
		}
		n.Update = append(n.Update, &gpb.Update{Path: p, Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: v}}})
	}
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}}
}

func syncNow() *gpb.SubscribeResponse {
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}
}

// counting reports the octets of some ports repeatedly; it refuses any group but
// counters.
func counting(ports int, every time.Duration) func(gpb.GNMI_SubscribeServer, *gpb.SubscribeRequest) error {
	return func(st gpb.GNMI_SubscribeServer, r *gpb.SubscribeRequest) error {
		if !counters(r) {
			return status.Error(codes.NotFound, "no such path")
		}
		tick := time.NewTicker(every)
		defer tick.Stop()
		for v := uint64(1); ; v++ {
			if err := st.Send(octets(ports, v)); err != nil {
				return err
			}
			if v == 1 {
				if err := st.Send(syncNow()); err != nil {
					return err
				}
			}
			select {
			case <-tick.C:
			case <-st.Context().Done():
				return st.Context().Err()
			}
		}
	}
}

// counters reports whether a request is for the group of counters.
func counters(r *gpb.SubscribeRequest) bool {
	e := r.GetSubscribe().GetSubscription()[0].GetPath().GetElem()
	return len(e) == 4 && e[3].GetName() == "counters"
}
