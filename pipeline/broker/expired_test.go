package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// TestExpiredCertificateIsRefused: a process does not send its credentials to a
// server whose certificate has expired, though the site's authority signed it: that
// may be somebody with an old key. One that is valid is accepted.
func TestExpiredCertificateIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		want string // what the server has from the process: an alert, or its first line
	}{
		"expired": {2 * serverLife, "bad certificate"},
		"valid":   {0, "CONNECT "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, keysFolder)
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := openKeys(folder); err != nil {
				t.Fatal(err)
			}
			old, err := openAuthority(folder, "lab", serverNames("", nil), func() time.Time { return time.Now().Add(-c.age) })
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			credentials, err := EnrollAs(dir, "lab", Collect("h1"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			connecting := make(chan struct{})
			go func() {
				defer close(connecting)
				if b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: "h1", Servers: []string{"tls://" + l.Addr().String()}, Credentials: credentials}); err == nil {
					b.Close()
				}
			}()
			if got := firstLine(l, old.config()); !strings.Contains(got, c.want) {
				t.Errorf("the server had %q, want %q", got, c.want)
			}
			stop()
			l.Close()
			<-connecting
		})
	}
}

// firstLine poses as a server of NATS for one connection and returns the first line
// that it received, or why there was none.
func firstLine(l net.Listener, config *tls.Config) string {
	c, err := l.Accept()
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	fmt.Fprintf(c, "INFO {\"server_id\":\"X\",\"version\":\"2.15.2\",\"headers\":true,\"max_payload\":8388608,\"tls_required\":true,\"nonce\":\"bm9uY2U\"}\r\n")
	secure := tls.Server(c, config)
	if err := secure.Handshake(); err != nil {
		return err.Error()
	}
	line, err := bufio.NewReader(secure).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return line
}
