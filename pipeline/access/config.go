package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// User may use the server. Exactly one of the three secrets is set.
type User struct {
	// Name is the user's name.
	Name string `yaml:"name"`
	// PasswordHash is a bcrypt hash.
	PasswordHash string `yaml:"password_hash"`
	// PasswordFile is a file of one line: the password or its bcrypt hash.
	PasswordFile string `yaml:"password_file"`
	// TokenFile is a file of one line: a bearer token.
	TokenFile string `yaml:"token_file"`
	// Role is viewer, operator, admin or push.
	Role Role `yaml:"role" default:"admin"`
	// Expires is when the user is refused from; never if not set.
	Expires time.Time `yaml:"expires" example:"2027-01-31T00:00:00Z"`
}

// Proxy is a reverse proxy that has authenticated the user. The zero Proxy is none.
type Proxy struct {
	Header string         // that names the user
	From   []netip.Prefix // addresses of the proxy
}

// Config lists the users of a server and their roles.
type Config struct {
	Users []User
	// File is a file in the form of Prometheus's web configuration, of which
	// basic_auth_users is read; empty is none.
	File string
	// Roles are the roles of users of File and of Proxy, by name; others are Viewer.
	Roles map[string]Role
	Proxy Proxy
	OIDC  OIDC

	Now    func() time.Time // nil is time.Now
	Logger *slog.Logger
}

// Any reports whether c configures any user: then every user must log in.
func (c Config) Any() bool {
	return len(c.Users) > 0 || c.File != "" || c.Proxy.Header != "" || c.OIDC.configured()
}

// Validate returns an error if c is invalid. It does not read files.
func (c Config) Validate() error {
	seen := map[string]bool{}
	for i, u := range c.Users {
		if err := u.Validate(); err != nil {
			return fmt.Errorf("web.users[%d]: %w", i, err)
		}
		if seen[u.Name] {
			return fmt.Errorf("web.users[%d]: duplicate name %q", i, u.Name)
		}
		seen[u.Name] = true
	}
	for name, role := range c.Roles {
		if _, err := ParseRole(string(role)); err != nil {
			return fmt.Errorf("web.roles: %s: %w", name, err)
		}
		if seen[name] {
			return fmt.Errorf("web.roles: %s: the role of a user of web.users belongs there", name)
		}
	}
	return errors.Join(c.Proxy.validate(), c.OIDC.validate())
}

// Validate returns an error if u is invalid. It does not read its file.
func (u User) Validate() error {
	secrets := 0
	for _, s := range []string{u.PasswordHash, u.PasswordFile, u.TokenFile} {
		if s != "" {
			secrets++
		}
	}
	switch {
	case u.Name == "":
		return errors.New("name required")
	case secrets != 1:
		return fmt.Errorf("%s: want one of password_hash, password_file and token_file", u.Name)
	case u.Role != "":
		_, err := ParseRole(string(u.Role))
		return err
	}
	return nil
}

// reserved are headers that cannot name a user: others set or read them.
var reserved = []string{"Authorization", "Host", "Cookie", "Origin", "Content-Type", "Content-Length"}

func (p Proxy) validate() error {
	switch {
	case p.Header == "" && len(p.From) == 0:
		return nil
	case p.Header == "":
		return errors.New("web.proxy: header: required: the one that names the user")
	case len(p.From) == 0:
		return errors.New("web.proxy: from: required: the addresses of the proxy")
	case slices.Contains(reserved, http.CanonicalHeaderKey(p.Header)):
		return fmt.Errorf("web.proxy: header: %s is reserved", p.Header)
	case strings.ContainsFunc(p.Header, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }):
		return fmt.Errorf("web.proxy: header: %.40q is no name of a header", p.Header)
	}
	for _, f := range p.From {
		if f.Bits() == 0 {
			return fmt.Errorf("web.proxy: from: %s would trust every address", f)
		}
	}
	return nil
}
