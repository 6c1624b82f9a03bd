package broker_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quintet-dc/quintet/pipeline/broker"
)

// remote connects over the listener, without trying again.
func remote(t *testing.T, s *broker.Server, dir string, creds []byte, set ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(dir, "keys", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	nc, err := nats.Connect(s.URL(), append(set, nats.UserCredentialBytes(creds), nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}), nats.NoReconnect())...)
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, err
}

// TestRevokeEndsConnections: a running server ends the connections of a revoked
// process and refuses its credentials, now and after a restart; others go on.
func TestRevokeEndsConnections(t *testing.T) {
	dir := t.TempDir()
	cfg := broker.Config{Dir: dir, Site: "lab", Listen: "127.0.0.1:0"}
	s := start(t, cfg)
	all := connect(t, s, broker.All)
	ctx := within(t, 30*time.Second)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	closed := map[string]chan struct{}{}
	creds := map[string][]byte{}
	for name, role := range map[string]broker.Role{"h1": broker.Collect("h1"), "h2": broker.Collect("h2"), "e1": broker.Engine} {
		file, err := broker.Enrolling{Dir: dir, Site: "lab", Name: name, Role: role}.Sign()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		if _, err := remote(t, s, dir, file, nats.ClosedHandler(func(*nats.Conn) { close(ended) })); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		creds[name], closed[name] = file, ended
	}
	for _, name := range []string{"h1", "e1"} {
		revoked, err := broker.Revoke(dir, name)
		if err != nil || len(revoked) != 1 {
			t.Fatalf("%s: %v, %v", name, revoked, err)
		}
	}
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"h1", "e1"} {
		select {
		case <-closed[name]:
		case <-ctx.Done():
			t.Fatalf("%s: its connection stands", name)
		}
	}
	refused := func(s *broker.Server) {
		t.Helper()
		for name, want := range map[string]bool{"h1": false, "e1": false, "h2": true} {
			if _, err := remote(t, s, dir, creds[name]); (err == nil) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	refused(s)
	select {
	case <-closed["h2"]:
		t.Error("another process was cut off")
	default:
	}
	if err := all.Append(ctx, "x", event("after")); err != nil {
		t.Errorf("the log after a revocation: %v", err)
	}
	again, err := broker.Enrolling{Dir: dir, Site: "lab", Name: "h1", Role: broker.Collect("h1")}.Sign()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote(t, s, dir, again); err != nil {
		t.Errorf("enrolled again: %v", err)
	}
	all.Close()
	s.Close()
	next := start(t, cfg)
	refused(next)
}

// TestCredentialsExpire: the connection of a credential that expires is ended, and it
// is refused from then on.
func TestCredentialsExpire(t *testing.T) {
	dir := t.TempDir()
	s := start(t, broker.Config{Dir: dir, Site: "lab", Listen: "127.0.0.1:0"})
	sign := func(life time.Duration) []byte {
		file, err := broker.Enrolling{Dir: dir, Site: "lab", Name: "h1", Role: broker.Collect("h1"), Life: life}.Sign()
		if err != nil || !strings.Contains(string(file), ", expires 20") {
			t.Fatalf("%v: %.200s", err, file)
		}
		return file
	}
	short, ctx := sign(time.Second), within(t, 30*time.Second)
	for { // accepted, and ended, until it has expired
		ended := make(chan struct{})
		if _, err := remote(t, s, dir, short, nats.ClosedHandler(func(*nats.Conn) { close(ended) })); err != nil {
			break
		}
		select {
		case <-ended:
		case <-ctx.Done():
			t.Fatal("an expired connection stands")
		}
	}
	if _, err := remote(t, s, dir, sign(time.Hour)); err != nil {
		t.Error(err)
	}
}

// TestRevokeKnowsNames: an unknown name is an error, a second time revokes nothing.
func TestRevokeKnowsNames(t *testing.T) {
	dir := t.TempDir()
	start(t, broker.Config{Dir: dir, Site: "lab"}).Close()
	if _, err := broker.Revoke(dir, "h1"); !errors.Is(err, broker.ErrNotEnrolled) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := broker.EnrollAs(dir, "lab", broker.Collect("h1")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if got, err := broker.Revoke(dir, "h1"); err != nil || len(got) != want {
			t.Errorf("%d revoked, %v", len(got), err)
		}
	}
	all, err := broker.Enrolments(dir)
	if err != nil || len(all) != 1 || all[0].Name != "h1" || all[0].Revoked.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
}
