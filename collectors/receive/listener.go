package receive

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// Listener is where one protocol is received; without Listen it is not.
type Listener struct {
	// Listen is host:port. Off loopback it needs TLS with our certificate, and either a
	// CA of the senders' certificates or a token.
	Listen string `yaml:"listen" example:"127.0.0.1:4317"`
	// TLS is our certificate, and the authority of the senders' certificates.
	TLS dial.TLS `yaml:"tls"`
	// Authorization is what senders must send; its file is read for every request.
	Authorization dial.Authorization `yaml:"authorization" was:"token_file=credentials_file"`
}

// Errors of a listener.
var (
	errListen    = errors.New("listen: want an address such as 127.0.0.1:4317")
	errOpen      = errors.New("listen: an address off loopback requires tls with cert_file and key_file, and a ca_file of the senders' certificates or an authorization")
	errServer    = errors.New("tls: server_name and insecure_skip_verify are for clients")
	errInClear   = errors.New("authorization: a token requires tls")
	errToken     = errors.New("authorization: missing or wrong token")
	errTokenFile = errors.New("authorization: the token file cannot be read")
)

// Validate reports a listener that cannot be, or is open to everybody.
func (o Listener) Validate() error {
	if o == (Listener{Authorization: dial.Authorization{Type: o.Authorization.Type}}) {
		return nil
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil || port == "" {
		return errListen
	}
	a, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && a.IsLoopback()
	switch {
	case o.TLS.ServerName != "" || o.TLS.Unverified:
		return errServer
	case o.TLS.Cert == "" && (o.Authorization.CredentialsFile != "" || o.TLS.CA != ""):
		return errInClear
	case !loopback && (o.TLS.Cert == "" || o.TLS.CA == "" && o.Authorization.CredentialsFile == ""):
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
	if o.Authorization.CredentialsFile == "" {
		return nil
	}
	want, err := dial.Secret(o.Authorization.CredentialsFile)
	if err != nil {
		return errTokenFile
	}
	sent, bearer := "", false
	if len(authorization) == 1 {
		sent, bearer = strings.CutPrefix(authorization[0], cmp.Or(o.Authorization.Type, "Bearer")+" ")
	}
	token := strings.TrimSpace(want)
	if token == "" || !bearer || subtle.ConstantTimeCompare([]byte(sent), []byte(token)) != 1 {
		return errToken
	}
	return nil
}
