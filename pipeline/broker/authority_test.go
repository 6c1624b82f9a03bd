package broker

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

func TestCertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	open := func(names ...string) *authority {
		t.Helper()
		a, err := openAuthority(dir, "lab", names, now)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	leaf := func(a *authority) *x509.Certificate {
		t.Helper()
		c, err := a.certificate()
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(a.cert)
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, DNSName: "localhost"}); err != nil {
			t.Fatal(err)
		}
		return c.Leaf
	}
	names := serverNames("", nil)
	a := open(names...)
	first := leaf(a)
	at = at.Add(300 * 24 * time.Hour)
	if !leaf(a).Equal(first) || !leaf(open(names...)).Equal(first) {
		t.Error("renewed long before its end")
	}
	at = at.Add(10 * 24 * time.Hour)
	second := leaf(a) // while it runs
	if second.Equal(first) || !second.NotAfter.After(at.Add(300*24*time.Hour)) {
		t.Error("not renewed near its end")
	}
	if !leaf(open(names...)).Equal(second) {
		t.Error("the renewed one is not kept")
	}
	third := leaf(open(serverNames("10.1.2.3", []string{"site.example"})...))
	if third.Equal(second) || third.VerifyHostname("10.1.2.3") != nil || third.VerifyHostname("site.example") != nil {
		t.Error("not renewed for a new name")
	}
	if !third.Equal(leaf(open(names...))) {
		t.Error("renewed for fewer names")
	}
	// If nothing can be written, what is valid stays in use.
	b := open(names...)
	b.dir = filepath.Join(dir, "nowhere")
	at = third.NotAfter.Add(-time.Hour)
	if !leaf(b).Equal(third) {
		t.Error("gave up a certificate that still holds")
	}
	at = third.NotAfter.Add(time.Hour)
	if _, err := b.certificate(); err == nil {
		t.Error("shows a certificate that has ended")
	}
}

func TestDamagedAuthority(t *testing.T) {
	dir := t.TempDir()
	if _, err := openAuthority(dir, "lab", []string{"localhost"}, time.Now); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{serverFile, authorityFile} {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"", "x", strings.Replace(string(good), "M", "Q", 5)} {
			if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := openAuthority(dir, "lab", []string{"localhost"}, time.Now); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is %.20q: %v", name, bad, err)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The key is lost: a new authority would lock every process out without an
	// error.
	if err := os.Remove(filepath.Join(dir, authorityKeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := openAuthority(dir, "lab", []string{"localhost"}, time.Now); err == nil {
		t.Error("an authority without its key was replaced")
	}
}

func TestLogLimit(t *testing.T) {
	var l limit
	at, passed := time.Unix(1_800_000_000, 0), 0
	for range 100 {
		if ok, _ := l.take(at); ok {
			passed++
		}
	}
	if passed != limitLines {
		t.Errorf("%d lines passed, want %d", passed, limitLines)
	}
	if ok, dropped := l.take(at.Add(limitWhile)); !ok || dropped != 100-limitLines {
		t.Errorf("the next while: %v, %d dropped", ok, dropped)
	}
	if _, dropped := l.take(at.Add(3 * limitWhile)); dropped != 0 {
		t.Errorf("told twice: %d", dropped)
	}
}

// A token that exceeds the protocol's line length cannot be used to connect.
func TestTokensFit(t *testing.T) {
	names, err := bus.NamesOf(strings.Repeat("é", 32)) // the longest there is
	if err != nil {
		t.Fatal(err)
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	collect := Collect(strings.Repeat("é", bus.MaxCollector/2))
	for _, role := range []Role{All, Tick, Engine, Store, Notify, Web, collect, "tick,engine,store,notify,web," + collect} {
		file, err := users(account, role, names, terms{remote: true})
		if err != nil || len(file) > maxControlLine/2 {
			t.Errorf("%.20s: users of %d bytes, %v", role, len(file), err)
		}
	}
}

// A site of an earlier version is separated at its first start, once; a new site has
// nothing to revoke.
func TestOpenSeparation(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	fresh, upgraded := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(upgraded, authorityFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is read
		if since, err := openSeparation(fresh, at); err != nil || !since.IsZero() {
			t.Errorf("a new site: %v, %v", since, err)
		}
		if since, err := openSeparation(upgraded, at); err != nil || since.Unix() != 1_799_999_999 {
			t.Errorf("a site of an earlier version: %v, %v", since, err)
		}
		if err := os.WriteFile(filepath.Join(fresh, authorityFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Hour)
	}
	if err := os.WriteFile(filepath.Join(fresh, separationFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSeparation(fresh, at); err == nil || !strings.Contains(err.Error(), separationFile) {
		t.Errorf("a damaged file: %v", err)
	}
}
