package receive

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
)

// listening starts a receiver that takes OTLP over gRPC, and returns its address.
func listening(t *testing.T, c Config) (p *post, address string) {
	t.Helper()
	return listeningFor(t, c, grpcTimeout)
}

// listeningFor is listening where a request has so much time.
func listeningFor(t *testing.T, c Config, patience time.Duration) (p *post, address string) {
	t.Helper()
	c.OTLP.Listen = "127.0.0.1:0"
	p = open(t, c)
	g := p.GRPC()
	g.timeout = patience
	p.part = g
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, p.keeper) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error("Run:", err)
		}
	})
	select {
	case a := <-g.bound:
		return p, a.String()
	case err := <-done:
		done <- err
		t.Fatal(err)
		return nil, ""
	}
}

// underWay waits until so many requests are: one that asks meanwhile would take
// the place of one that is still to come.
func underWay(t *testing.T, g *GRPC, n int) {
	t.Helper()
	count := func() int { g.mu.Lock(); defer g.mu.Unlock(); return g.under }
	for limit := time.Now().Add(time.Minute); count() != n; runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("%d requests under way, want %d", count(), n)
		}
	}
}

func client(t *testing.T, address string, creds credentials.TransportCredentials) pmetricotlp.GRPCClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return pmetricotlp.NewGRPCClient(conn)
}

// comingFrom makes a client connect from an address of loopback.
func comingFrom(ip string) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).DialContext(ctx, "tcp", to)
	})
}

// TestSlowExportsKeepNobodyOut: requests of which no more than the head comes take the
// places of their own address only, and lose them when their time is over.
func TestSlowExportsKeepNobodyOut(t *testing.T) {
	p, address := listeningFor(t, Config{}, 10*time.Second)
	var held []grpc.ClientStream
	for range 4 { // connections, each with as many requests as it may have
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), comingFrom("127.0.0.2"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range grpcStreams {
			s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export")
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, s)
		}
	}
	underWay(t, p.part, grpcOfAddress)
	if _, err := client(t, address, insecure.NewCredentials()).Export(t.Context(), points(noon)); err != nil {
		t.Error("another address is kept out:", err)
	}
	ended := 0
	for _, s := range held { // those beyond the part at once, the others when the patience ends
		if err := s.RecvMsg(new(emptypb.Empty)); status.Code(err) == codes.DeadlineExceeded {
			ended++
		}
	}
	if ended != grpcOfAddress {
		t.Errorf("%d requests were ended for their slowness, want %d", ended, grpcOfAddress)
	}
	underWay(t, p.part, 0)
}

// TestOTLPOverGRPC: the same points become the same series as over HTTP, with
// the same answer; a sender that packs them is understood.
func TestOTLPOverGRPC(t *testing.T) {
	now := noon
	p, address := listening(t, Config{Now: func() time.Time { return now }})
	x := client(t, address, insecure.NewCredentials())
	for i, how := range [][]grpc.CallOption{nil, {grpc.UseCompressor("gzip")}} {
		now = noon.Add(time.Duration(i) * time.Second)
		a, err := x.Export(t.Context(), points(now), how...)
		if err != nil || a.PartialSuccess().RejectedDataPoints() != 2 || a.PartialSuccess().ErrorMessage() != "2 unsupported" {
			t.Error(a.PartialSuccess().RejectedDataPoints(), a.PartialSuccess().ErrorMessage(), err)
		}
	}
	got := strings.Join(p.drain(), "\n")
	for _, want := range []string{
		"edge node:n1 contains gpu:n1/0 by receive",
		"frame 0 at +0s received +0s gpu:n1/0 gpu_temperature_celsius=61 gpu:n1/0 gpu_energy_joules_total=8.125",
		"frame 1 at +1s received +1s gpu:n1/0 gpu_temperature_celsius=61",
		`collector:receive/otlp http_requests_total{host_name="n1"}=3`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	// What arrives by both ways is one series: the same sample is not emitted
	// twice.
	body, err := points(now).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	p.request("/v1/metrics", string(body), "Content-Type", "application/x-protobuf")
	if again := strings.Join(p.drain(), "\n"); strings.Contains(again, "gpu_temperature_celsius") {
		t.Errorf("said again:\n%s", again)
	}
}

// TestGRPCRefuses: a request that is too long, one too many at once, and any
// while nothing is received.
func TestGRPCRefuses(t *testing.T) {
	p, address := listening(t, Config{MaxBody: 4096})
	x := client(t, address, insecure.NewCredentials())
	long := pmetric.NewMetrics()
	m := long.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName(strings.Repeat("x", 5000))
	m.SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	if _, err := x.Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(long)); status.Code(err) != codes.ResourceExhausted {
		t.Error("5,000 bytes of 4,096:", err)
	}
	if _, err := x.Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(long), grpc.UseCompressor("gzip")); status.Code(err) != codes.ResourceExhausted {
		t.Error("5,000 bytes of 4,096, packed:", err)
	}
	if _, err := x.Export(t.Context(), points(noon)); err != nil {
		t.Error("after a refusal:", err)
	}
	if got := p.drain(); len(got) == 0 {
		t.Error("nothing was emitted")
	}
}

// TestTooManyExports: of more requests under way than memory is meant for, the
// rest is put off, counted, before a byte of them is read; when the others are
// over, there is room again.
func TestTooManyExports(t *testing.T) {
	p, address := listening(t, Config{})
	var held []grpc.ClientStream
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for len(held) < grpcRequests { // from two addresses: one has a part of the room
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), comingFrom(fmt.Sprint("127.0.0.", 2+len(held)/grpcOfAddress)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range grpcStreams {
			// A request of which nothing but its head comes.
			s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export")
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, s)
		}
	}
	x := client(t, address, insecure.NewCredentials())
	underWay(t, p.part, grpcRequests)
	if _, err := x.Export(t.Context(), points(noon)); status.Code(err) != codes.Unavailable {
		t.Fatal("one too many was taken:", err)
	}
	p.keeper.mu.Lock()
	counted := 0
	for _, s := range p.keeper.sweeps {
		counted += s.Dropped["over_limit"]
	}
	p.keeper.mu.Unlock()
	if counted == 0 {
		t.Error("what was put off was not counted")
	}
	stop()
	underWay(t, p.part, 0)
	if _, err := x.Export(t.Context(), points(noon)); err != nil {
		t.Fatal("no room again:", err)
	}
}

// TestGRPCSenders: with TLS, who has no token, another's, or no certificate of
// ours, is refused; the token's file may change.
func TestGRPCSenders(t *testing.T) {
	dir := t.TempDir()
	ours := certificate(t, dir, "ours")
	stranger := certificate(t, dir, "stranger")
	token := filepath.Join(dir, "token")
	write(t, token, "first\n")
	roots := x509.NewCertPool()
	pemOf, err := os.ReadFile(filepath.Join(dir, "ours.crt"))
	if err != nil || !roots.AppendCertsFromPEM(pemOf) {
		t.Fatal(err)
	}
	server := dial.TLS{Cert: filepath.Join(dir, "ours.crt"), Key: filepath.Join(dir, "ours.key")}
	_, address := listening(t, Config{OTLP: Listener{TLS: server, Authorization: dial.Authorization{CredentialsFile: token}}})
	x := client(t, address, credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "localhost"}))
	with := func(s string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", s)
	}
	for _, c := range []struct {
		ctx  context.Context
		want codes.Code
	}{{t.Context(), codes.Unauthenticated}, {with("Bearer second"), codes.Unauthenticated}, {with("first"), codes.Unauthenticated}, {with("Bearer first"), codes.OK}} {
		if _, err := x.Export(c.ctx, points(noon)); status.Code(err) != c.want {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	write(t, token, "second")
	if _, err := x.Export(with("Bearer second"), points(noon)); err != nil {
		t.Error("after the token changed:", err)
	}
	server.CA = filepath.Join(dir, "ours.crt")
	_, address = listening(t, Config{OTLP: Listener{TLS: server}})
	for _, c := range []struct {
		name  string
		shown []tls.Certificate
		ok    bool
	}{{"none", nil, false}, {"a stranger's", []tls.Certificate{stranger}, false}, {"ours", []tls.Certificate{ours}, true}} {
		x := client(t, address, credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: c.shown}))
		if _, err := x.Export(t.Context(), points(noon)); (err == nil) != c.ok {
			t.Errorf("certificate: %s: %v", c.name, err)
		}
	}
}

// certificate makes one that is its own authority, beside its key.
func certificate(t *testing.T, dir, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	about.Subject.CommonName = name
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name+".crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, filepath.Join(dir, name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDecodeConfig: valid entries, and the errors of invalid ones.
func TestDecodeConfig(t *testing.T) {
	decode := func(text string) (Config, error) {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		return kind.Entry[Config]("receive")(&n)
	}
	c, err := decode("{mappings: [dcgm], max_body: 65536, otlp_grpc: {listen: '0.0.0.0:4317', tls: {cert_file: a, key_file: b}, authorization: {credentials_file: t}}}")
	if err != nil || c.Mapper == nil || c.MaxBody != 65536 || c.OTLP.Authorization.CredentialsFile != "t" || New(c).GRPC().Target() != "0.0.0.0:4317" {
		t.Error(c, err)
	}
	if c, err = decode("{}"); err != nil || New(c).GRPC() != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"{otlp_grpc: {listen: '0.0.0.0:4317'}}":                                                     "1:13: receive: otlp_grpc: listen: an address off loopback requires tls",
		"{otlp_grpc: {listen: '10.0.0.1:4317', tls: {cert_file: a, key_file: b}}}":                  "an address off loopback requires tls",
		"{otlp_grpc: {listen: '127.0.0.1:4317', authorization: {credentials_file: t}}}":             "a token requires tls",
		"{otlp_grpc: {listen: '127.0.0.1:4317', tls: {cert_file: a, key_file: b, server_name: x}}}": "are for clients",
		"{otlp_grpc: {listen: '127.0.0.1'}}":                                                        "want an address such as",
		"{mappings: [none]}":                                                                        `no mapping "none"`,
		"{files: [none.yaml]}":                                                                      "none.yaml",
		"{maping: []}":                                                                              "unknown key",
	} {
		if _, err := decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
