package receive

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
)

// Listener is where one protocol is received; without Listen it is not.
type Listener struct {
	// Listen is host:port. Off loopback it needs TLS with our certificate, and
	// either a CA of the senders' certificates or a token.
	Listen string
	TLS    dial.TLS
	// TokenFile holds what senders send as "authorization: Bearer …"; it is read
	// for every request.
	TokenFile string
}

func decodeListener(r *entry.Reader, n *yaml.Node, key string) Listener {
	var o Listener
	r.Entry(n,
		entry.Key{Name: "listen", Read: func(v *yaml.Node) { o.Listen = r.Text(v, key+": listen") }},
		entry.Key{Name: "tls", Read: func(v *yaml.Node) { o.TLS = dial.DecodeTLS(r, v) }},
		entry.Key{Name: "token_file", Read: func(v *yaml.Node) { o.TokenFile = r.Text(v, key+": token_file") }},
	)
	if err := o.validate(); err != nil {
		r.Fail(n, "%s: %v", key, err)
	}
	return o
}

// Errors of a listener.
var (
	errListen    = errors.New("listen: want an address such as 127.0.0.1:4317")
	errOpen      = errors.New("listen: an address off loopback requires tls with cert and key, and a ca of the senders' certificates or a token_file")
	errServer    = errors.New("tls: server_name and unverified are for clients")
	errInClear   = errors.New("token_file: a token requires tls")
	errToken     = errors.New("authorization: missing or wrong token")
	errTokenFile = errors.New("authorization: the token file cannot be read")
)

func (o Listener) validate() error {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil || port == "" {
		return errListen
	}
	a, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && a.IsLoopback()
	switch {
	case o.TLS.ServerName != "" || o.TLS.Unverified:
		return errServer
	case o.TLS.Cert == "" && (o.TokenFile != "" || o.TLS.CA != ""):
		return errInClear
	case !loopback && (o.TLS.Cert == "" || o.TLS.CA == "" && o.TokenFile == ""):
		return errOpen
	}
	return nil
}

// Within returns an error if a listener would be reached from outside of the
// management network. Without management prefixes, TLS and a token or certificates
// are what protects it.
func (c Config) Within(g dial.Guard) error {
	for _, o := range []struct {
		key string
		Listener
	}{{"otlp_grpc", c.OTLP}, {"http", c.HTTP}} {
		if o.Listen == "" || len(g.Prefixes) == 0 {
			continue
		}
		host, _, err := net.SplitHostPort(o.Listen)
		a, notAddress := netip.ParseAddr(host)
		switch {
		case err != nil || host != "" && notAddress != nil: // a name, whose address is not known here
		case host == "" || a.IsUnspecified():
			return fmt.Errorf("%s: listen: %s is on every interface: state an address of the management prefixes %v", o.key, o.Listen, g.Prefixes)
		case !a.IsLoopback() && !g.Allows(a):
			return fmt.Errorf("%s: listen: %w", o.key, &dial.RefusedError{Host: o.Listen, Address: a, Allowed: g.Prefixes})
		}
	}
	return nil
}

// admits returns nil where the values of the authorization header are what
// senders must send, errToken where they are not, and errTokenFile where that is
// not known.
func (o Listener) admits(authorization []string) error {
	if o.TokenFile == "" {
		return nil
	}
	want, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return errTokenFile
	}
	sent, bearer := "", false
	if len(authorization) == 1 {
		sent, bearer = strings.CutPrefix(authorization[0], "Bearer ")
	}
	token := strings.TrimSpace(string(want))
	if token == "" || !bearer || subtle.ConstantTimeCompare([]byte(sent), []byte(token)) != 1 {
		return errToken
	}
	return nil
}
