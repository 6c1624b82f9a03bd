package config

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/quintet-dc/quintet/pipeline/access"
	"github.com/quintet-dc/quintet/settings"
)

// Web configures the users of the page and the API, and how they are served.
type Web struct {
	// TLS is our certificate; without one, the page is served over HTTP.
	TLS WebTLS `yaml:"tls"`
	// Hosts are further names under which the page is requested on loopback.
	Hosts []string `yaml:"hosts"`
	// Users are the users.
	Users []access.User `yaml:"users" example:"[{name: ann, password_file: ann.password, role: operator}]"`
	// UsersFile is a file of users in the form of Prometheus's web configuration.
	UsersFile string `yaml:"users_file"`
	// Roles are the roles of users of users_file and of the proxy, by name; others are
	// viewers.
	Roles map[string]access.Role `yaml:"roles" example:"{eve: operator}"`
	// OIDC lets users log in at an identity provider.
	OIDC access.OIDC `yaml:"oidc"`
	// Proxy is a reverse proxy that has authenticated the user.
	Proxy Proxy `yaml:"proxy"`
}

// WebTLS is the certificate of the page, and the one that its users must have.
type WebTLS struct {
	// Cert is a file of our certificate.
	Cert string `yaml:"cert_file" was:"cert"`
	// Key is a file of its key.
	Key string `yaml:"key_file" was:"key"`
	// ClientCA is a file of certificates that a client's certificate must be signed by;
	// empty asks for no certificate.
	ClientCA string `yaml:"client_ca_file" was:"client_ca"`
}

// Validate reports keys that require one another.
func (t WebTLS) Validate() error {
	if (t.Cert == "") != (t.Key == "") || t.ClientCA != "" && t.Cert == "" {
		return errors.New("want both cert_file and key_file")
	}
	return nil
}

// Proxy is a reverse proxy that has authenticated the user.
type Proxy struct {
	// Header is the header that names the user.
	Header string `yaml:"header" example:"X-Remote-User"`
	// From are the addresses of the proxy.
	From []Peer `yaml:"from" example:"[127.0.0.1, 10.0.0.0/30]"`
}

// Peer is an address or a prefix.
type Peer struct{ netip.Prefix }

// Set reads an address or a prefix.
func (p *Peer) Set(text string) (err error) {
	if a, single := netip.ParseAddr(text); single == nil {
		p.Prefix = netip.PrefixFrom(a, a.BitLen())
		return nil
	}
	if p.Prefix, err = netip.ParsePrefix(text); err != nil {
		return errors.New("want an address or a prefix such as 10.20.0.0/16")
	}
	return nil
}

// Access returns who may do what.
func (w Web) Access() access.Config {
	c := access.Config{Users: w.Users, File: w.UsersFile, Roles: w.Roles, OIDC: w.OIDC, Proxy: access.Proxy{Header: w.Proxy.Header}}
	for _, p := range w.Proxy.From {
		c.Proxy.From = append(c.Proxy.From, p.Prefix)
	}
	return c
}

// Validate reports what package access does not accept, each at its key.
func (w Web) Validate() error {
	var wrong []error
	err := w.Access().Validate()
	if err == nil {
		return nil
	}
	for text := range strings.SplitSeq(err.Error(), "\n") {
		key, what, _ := strings.Cut(strings.TrimPrefix(text, "web."), ": ")
		wrong = append(wrong, settings.Errorf(key, "%s", what))
	}
	return errors.Join(wrong...)
}
