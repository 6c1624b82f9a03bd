package dial

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestGuard: only the management network is dialled, loopback alone where none
// is configured, and the refusal names what was asked for.
func TestGuard(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Guard{}.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	var refused *RefusedError
	_, err = Guard{Prefixes: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}}.DialContext(t.Context(), "tcp", l.Addr().String())
	if !errors.As(err, &refused) || refused.Host != "127.0.0.1" {
		t.Errorf("loopback beside a management prefix: %v", err)
	}
	if _, err = (Guard{}).DialContext(t.Context(), "tcp", "192.0.2.1:9339"); !errors.As(err, &refused) {
		t.Errorf("another network without a prefix: %v", err)
	}
	g := Guard{Prefixes: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
	for a, want := range map[string]bool{"10.20.3.4": true, "::ffff:10.20.3.4": true, "10.21.0.1": false, "fd00::1%eth0": true, "127.0.0.1": false} {
		if g.Allows(netip.MustParseAddr(a)) != want {
			t.Errorf("%s: allowed is %v", a, !want)
		}
	}
}

// authority signs certificates for 127.0.0.1.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func (a *authority) leaf(t *testing.T, name string) tls.Certificate {
	return a.leafUntil(t, name, time.Now().Add(time.Hour))
}

func (a *authority) leafUntil(t *testing.T, name string, until time.Time) tls.Certificate {
	t.Helper()
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// shake has a client with these settings meet a server with this certificate.
func shake(t *testing.T, c *tls.Config, server tls.Certificate) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{server}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_ = conn.(*tls.Conn).HandshakeContext(context.Background())
			conn.Close()
		}
	}()
	own := c.Clone()
	own.ServerName = "127.0.0.1"
	conn, err := (&tls.Dialer{Config: own}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err == nil {
		conn.Close()
	}
	return err
}

// TestRotation: a certificate of another authority is refused until the file of
// authorities has been replaced; no restart is needed.
func TestRotation(t *testing.T) {
	old, fresh := newAuthority(t, "old"), newAuthority(t, "new")
	file := filepath.Join(t.TempDir(), "ca.pem")
	write := func(b []byte, at time.Time) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(old.pem, time.Unix(1000, 0))
	c, err := TLS{CA: file}.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := shake(t, c, old.leaf(t, "leaf1")); err != nil {
		t.Error("the authority's own:", err)
	}
	if err := shake(t, c, fresh.leaf(t, "leaf1")); err == nil {
		t.Error("a stranger's certificate was taken")
	}
	write([]byte("half of a"), time.Unix(2000, 0))
	if err := shake(t, c, old.leaf(t, "leaf1")); err != nil {
		t.Error("while the file is being written:", err)
	}
	write(fresh.pem, time.Unix(3000, 0))
	if err := shake(t, c, fresh.leaf(t, "leaf1")); err != nil {
		t.Error("after the rotation:", err)
	}
	if err := shake(t, c, old.leaf(t, "leaf1")); err == nil {
		t.Error("the old authority is believed still")
	}
	if c, err = (TLS{Unverified: true}).Config(); err != nil || shake(t, c, old.leaf(t, "bmc")) != nil {
		t.Error("unverified:", err)
	}
	if _, err := (TLS{CA: file + ".none"}).Config(); err == nil {
		t.Error("a file that is not there was taken")
	}
}

// files writes a certificate and its key as of an hour.
func files(t *testing.T, dir string, c tls.Certificate, hour int) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	at := time.Unix(int64(hour)*3600, 0)
	err = errors.Join(os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600),
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), 0o600), os.Chtimes(cert, at, at))
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// TestServerRotation: a listener shows its new certificate at the next connection, and
// admits who has one of the new authority. One that expired, or is of another
// authority, is refused.
func TestServerRotation(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	dir := t.TempDir()
	cert, key := files(t, dir, ours.leaf(t, "log"), 1)
	ca := filepath.Join(dir, "ca.pem")
	trust := func(b []byte, hour int) {
		at := time.Unix(int64(hour)*3600, 0)
		if err := errors.Join(os.WriteFile(ca, b, 0o600), os.Chtimes(ca, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	trust(ours.pem, 1)
	server, err := TLS{Cert: cert, Key: key, CA: ca}.Server()
	if err != nil {
		t.Fatal(err)
	}
	meet := func(trusted *authority, own ...tls.Certificate) error {
		roots := x509.NewCertPool()
		roots.AddCert(trusted.cert)
		return greet(t, server, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", Certificates: own})
	}
	if err := meet(ours, ours.leaf(t, "n012")); err != nil {
		t.Error("the authority's own:", err)
	}
	for name, c := range map[string][]tls.Certificate{"none": nil, "another authority's": {theirs.leaf(t, "n012")}, "an expired one": {ours.leafUntil(t, "n012", time.Now().Add(-time.Minute))}} {
		if meet(ours, c...) == nil {
			t.Errorf("%s: admitted", name)
		}
	}
	trust(theirs.pem, 2)
	if meet(ours, ours.leaf(t, "n012")) == nil || meet(ours, theirs.leaf(t, "n012")) != nil {
		t.Error("the new authority is not the one that counts")
	}
	files(t, dir, theirs.leaf(t, "log"), 3)
	if meet(ours, theirs.leaf(t, "n012")) == nil || meet(theirs, theirs.leaf(t, "n012")) != nil {
		t.Error("the new certificate is not the one that is shown")
	}
}

// greet has a client meet a server, and exchanges a byte: a client learns of a refusal
// only when it reads.
func greet(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write([]byte{1})
			conn.Close()
		}
	}()
	conn, err := (&tls.Dialer{Config: client}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	return err
}
