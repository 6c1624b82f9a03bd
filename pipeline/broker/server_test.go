package broker_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// The test binary is also the process that holds a directory.
const childDir = "QUINTET_TEST_BROKER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		s, err := broker.Start(context.Background(), broker.Config{Dir: dir, Site: "lab"})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(anonymous())
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Close()
		return
	}
	os.Exit(m.Run())
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func start(t testing.TB, cfg broker.Config) *broker.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	cfg.Site = "lab"
	s, err := broker.Start(within(t, 20*time.Second), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// connect joins as a client in this process.
func connect(t testing.TB, s *broker.Server, r broker.Role) *bus.Bus {
	t.Helper()
	c, err := s.Connection(r)
	if err != nil {
		t.Fatal(err)
	}
	return dial(t, bus.Config{InProcess: c.InProcess, Credentials: c.Credentials})
}

func dial(t testing.TB, cfg bus.Config) *bus.Bus {
	t.Helper()
	cfg.Site, cfg.Name = "lab", "test"
	b, err := bus.Connect(within(t, 10*time.Second), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Two servers on one directory would ruin it.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err = broker.Start(t.Context(), broker.Config{Dir: dir, Site: "lab"})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("a directory in use: %v", err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s := start(t, broker.Config{Dir: dir})
	if _, err := broker.Start(t.Context(), broker.Config{Dir: dir, Site: "lab"}); err == nil {
		t.Error("two in one process")
	}
	s.Close()
	start(t, broker.Config{Dir: dir})
}

var userSeed = regexp.MustCompile(`SU[A-Z2-7]{56}`)

// Secrets are for their owner's eyes, and last.
func TestKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := start(t, broker.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if s.Health() != nil || connect(t, s, broker.All).Create(within(t, 10*time.Second)) != nil {
		t.Error("not healthy")
	}
	creds, err := s.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		switch {
		case err != nil:
			return err
		case strings.Contains(path, "jetstream"):
			return nil // below a directory that nobody else enters
		case d.IsDir():
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), want)
		}
		if content, err := os.ReadFile(path); err == nil && userSeed.Match(content) {
			t.Errorf("%s: holds a user's key: %.20q", path, content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = start(t, broker.Config{Dir: dir, Listen: "127.0.0.1:0", Names: []string{"other.example"}})
	dial(t, bus.Config{Servers: []string{s.URL()}, Credentials: creds})
	s.Close()
	if err := os.WriteFile(filepath.Join(dir, "keys", "account.seed"), []byte("SUXX"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Start(t.Context(), broker.Config{Dir: dir, Site: "lab"}); err == nil || !strings.Contains(err.Error(), "account.seed") {
		t.Errorf("a damaged key: %v", err)
	}
	if _, err := broker.EnrollAs(dir, "lab", broker.Collect("h1")); err == nil || !strings.Contains(err.Error(), "account.seed") {
		t.Errorf("enrolling with a damaged key: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "keys", "account.seed")); err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Start(t.Context(), broker.Config{Dir: dir, Site: "lab"}); err == nil || !strings.Contains(err.Error(), "account.seed") {
		t.Errorf("a lost key: %v", err)
	}
	if _, err := broker.EnrollAs(t.TempDir(), "lab", broker.Collect("h1")); err == nil {
		t.Error("enrolling where no site is")
	}
}

// Enrolling while a server runs, which is not notified.
func TestEnroll(t *testing.T) {
	dir := t.TempDir()
	s := start(t, broker.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err := connect(t, s, broker.All).Create(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	creds, err := broker.EnrollAs(dir, "lab", broker.Collect("n1.rack/2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"collect:n1.rack/2", "BEGIN NATS USER JWT", "BEGIN USER NKEY SEED", "BEGIN CERTIFICATE"} {
		if !strings.Contains(string(creds), want) {
			t.Errorf("the file does not say %q", want)
		}
	}
	b := dial(t, bus.Config{Servers: []string{s.URL()}, Credentials: creds})
	if err := b.Append(within(t, 10*time.Second), "n1.rack/2", event("x")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"", "a\nb", strings.Repeat("x", 201)} {
		if _, err := s.Enroll(name); err == nil {
			t.Errorf("enrolled %q", name)
		}
	}
	for _, role := range []broker.Role{"king", "", "web,", "web,king", "collect", "web, tick"} {
		if _, err := broker.EnrollAs(dir, "lab", role); err == nil {
			t.Errorf("enrolled as %q", role)
		}
	}
}

// Without a listener nothing listens; with one, nothing but TLS and known users
// get in.
func TestListener(t *testing.T) {
	s := start(t, broker.Config{})
	if s.URL() != "" {
		t.Errorf("no listener, at %s", s.URL())
	}
	s = start(t, broker.Config{Listen: "127.0.0.1:0"})
	other := start(t, broker.Config{Listen: "127.0.0.1:0"})
	ctx := within(t, 20*time.Second)
	good, err := s.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Enroll("h1")
	if err != nil {
		t.Fatal(err)
	}
	inside, err := s.Connection(broker.All)
	if err != nil {
		t.Fatal(err)
	}
	authority := good[strings.Index(string(good), "-----BEGIN CERTIFICATE"):]
	stranger := foreign[:strings.Index(string(foreign), "-----BEGIN CERTIFICATE")]
	for name, creds := range map[string][]byte{
		"nobody, unknown authority": nil, "nobody": authority, "another site's": foreign,
		"another site's user": append(stranger, authority...), "a user of this process only": append(inside.Credentials, authority...),
	} {
		b, err := bus.Connect(ctx, bus.Config{Site: "lab", Servers: []string{s.URL()}, Credentials: creds})
		if err == nil {
			t.Errorf("%s: let in", name)
			b.Close()
		}
	}
	dial(t, bus.Config{Servers: []string{s.URL()}, Credentials: good})
	host := strings.TrimPrefix(s.URL(), "tls://")
	old := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true}
	if nc, err := nats.Connect(s.URL(), nats.UserCredentialBytes(good), nats.Secure(old)); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v", err)
		if err == nil {
			nc.Close()
		}
	}
	if _, err := broker.Start(ctx, broker.Config{Dir: t.TempDir(), Site: "lab", Listen: host}); err == nil {
		t.Error("two listeners at one address")
	}
	plain(t, host)
}

// plain connects without TLS: it receives a greeting and nothing more.
func plain(t *testing.T, host string) {
	t.Helper()
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write([]byte("CONNECT {}\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(c)
	if strings.Contains(string(got), "PONG") || !strings.HasPrefix(string(got), "INFO ") {
		t.Errorf("without TLS: %q", got)
	}
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]broker.Config{
		"no directory": {Site: "lab"}, "no site": {Dir: t.TempDir()}, "a port that is none": {Dir: t.TempDir(), Site: "lab", Listen: "localhost:nats"},
		"no port": {Dir: t.TempDir(), Site: "lab", Listen: "localhost"}, "a name that is none": {Dir: t.TempDir(), Site: "lab", Names: []string{"a b"}}, "a payload beyond all measure": {Dir: t.TempDir(), Site: "lab", MaxPayload: 1 << 30},
	} {
		if s, err := broker.Start(t.Context(), cfg); err == nil {
			s.Close()
			t.Errorf("%s: started", name)
		}
	}
}
