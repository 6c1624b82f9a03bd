package gnmi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// fakeConfig is what the fake target plays: values of its random generator under
// paths of the old form, which is the only one that it has for them.
const fakeConfig = `
target: "leaf1"
client_type: GRPC_GNMI
disable_eof: true
enable_delay: true
values: <
  path: "interfaces" path: "interface[name=Ethernet1]" path: "state" path: "counters" path: "in-octets"
  timestamp: < timestamp: %[1]d delta_min: 20000000 delta_max: 20000000 >
  repeat: 400
  uint_value: < value: 4000000000000 range: < minimum: 4000000000000 maximum: 5000000000000 delta_min: 1000 delta_max: 9000 > >
>
values: <
  path: "interfaces" path: "interface[name=Ethernet1]" path: "state" path: "oper-status"
  timestamp: < timestamp: %[1]d delta_min: 50000000 delta_max: 50000000 >
  repeat: 100
  string_value: < list: < options: "UP" options: "DOWN" > >
>
values: <
  path: "interfaces" path: "interface[name=Ethernet1]" path: "state" path: "counters" path: "out-octets"
  timestamp: < timestamp: %[1]d delta_min: 500000000 delta_max: 500000000 >
  repeat: 1
  delete: <>
>
values: <
  path: "unheard" path: "of"
  timestamp: < timestamp: %[1]d delta_min: 100000000 delta_max: 100000000 >
  repeat: 10
  double_value: < value: 0.5 >
>
`

// TestTheFakeTarget: the fake target of the project that defines gNMI, built from
// its own source (testdata/fake) and run as a program of its own, is read.
func TestTheFakeTarget(t *testing.T) {
	if os.Getenv("QUINTET_E2E") == "" {
		t.Skip("QUINTET_E2E is not set: building the fake target needs modules that the project does not")
	}
	dir := t.TempDir()
	server := filepath.Join(dir, "fake_server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", server, "github.com/openconfig/gnmi/testing/fake/gnmi/cmd/fake_server")
	build.Dir = "testdata/fake"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	cert, key := selfSigned(t)
	config := write("config", fmt.Appendf(nil, fakeConfig, time.Now().UnixNano()))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	ca := write("cert", cert)
	run := exec.CommandContext(t.Context(), server, "-config", config, "-text", "-port", fmt.Sprint(port), "-allow_no_client_auth", "-server_crt", ca,
		"-server_key", write("key", key), "-logtostderr")
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // it was killed
	})
	c, err := New(Config{Profile: "openconfig", TLS: dial.TLS{CA: ca}, Targets: []Target{{Name: "leaf1", Address: fmt.Sprintf("127.0.0.1:%d", port)}}}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	c.pace = quickPace()
	p := newTape()
	playInto(t, c, p)
	p.await(t, "samples of what it plays, and word of what nobody knows", func() bool {
		return p.samples > 50 && p.dropped[collectors.Unknown] > 0
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.dropped[collectors.Malformed]; n > 0 {
		t.Errorf("%d malformed", n)
	}
	if p.last.Err != nil {
		t.Error(p.last.Err)
	}
}

// selfSigned makes a certificate for loopback that vouches for itself, and its key.
func selfSigned(t *testing.T) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shape := &x509.Certificate{SerialNumber: big.NewInt(3), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, shape, shape, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})
}
