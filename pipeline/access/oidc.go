package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// CallbackPath is where an identity provider sends users back to.
const CallbackPath = "/-/callback"

const (
	defaultSession = time.Hour
	maxSession     = 12 * time.Hour
)

// OIDC is an OpenID Connect provider that authenticates users. The zero OIDC is none.
type OIDC struct {
	// Issuer is the URL of the provider; https, or http on loopback.
	Issuer string `yaml:"issuer"`
	// ClientID is how the provider knows this server.
	ClientID string `yaml:"client_id"`
	// SecretFile is a file of one line: the client's secret. Empty is a public client.
	SecretFile string `yaml:"client_secret_file" was:"secret_file"`
	// Redirect is the URL of this server's path /-/callback, as users reach it.
	Redirect string `yaml:"redirect_url" was:"redirect"`
	// Scopes are requested in addition to openid; the default is profile and email.
	Scopes []string `yaml:"scopes"`
	// NameClaim names the user; the default is preferred_username, else sub.
	NameClaim string `yaml:"username_claim" was:"name_claim"`
	// GroupsClaim lists the groups.
	GroupsClaim string `yaml:"groups_claim" default:"groups"`
	// Groups are the roles of groups. A user of several has the role that may most; one
	// of none is refused.
	Groups map[string]Role `yaml:"groups" example:"{sre: operator}"`
	// Session is the time after which users are authenticated again.
	Session time.Duration `yaml:"session_duration" was:"session" default:"1h" max:"12h"`
	// TLS is how the provider is connected to.
	TLS dial.TLS `yaml:"tls" was:"ca=ca_file"`
	// Dial makes connections to the provider; nil is net.Dialer's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o OIDC) configured() bool {
	return o.Issuer != "" || o.ClientID != "" || o.Redirect != "" || len(o.Groups) > 0
}

func (o OIDC) validate() error {
	if !o.configured() {
		return nil
	}
	issuer, err := url.Parse(o.Issuer)
	if err != nil || !secure(issuer) {
		return errors.New("web.oidc: issuer: want an https URL, or http on loopback")
	}
	redirect, err := url.Parse(o.Redirect)
	if err != nil || !secure(redirect) || redirect.Path != CallbackPath {
		return fmt.Errorf("web.oidc: redirect_url: want the URL of this server with the path %s, https or on loopback", CallbackPath)
	}
	switch {
	case o.ClientID == "":
		return errors.New("web.oidc: client_id: required")
	case len(o.Groups) == 0:
		return errors.New("web.oidc: groups: required: the role of each group that may log in")
	case o.Session < 0 || o.Session > maxSession:
		return fmt.Errorf("web.oidc: session_duration: %v: want at most %v", o.Session, maxSession)
	}
	for group, role := range o.Groups {
		if _, err := ParseRole(string(role)); err != nil {
			return fmt.Errorf("web.oidc: groups: %s: %w", group, err)
		}
	}
	return nil
}

// secure reports whether requests to a URL cannot be read or changed on the
// network.
func secure(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" && u.Host != "" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// withDefaults sets the defaults of empty fields.
func (o OIDC) withDefaults() OIDC {
	if o.Scopes == nil {
		o.Scopes = []string{"profile", "email"}
	}
	o.Scopes = append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(o.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })...)
	o.GroupsClaim = cmp.Or(o.GroupsClaim, "groups")
	o.Session = cmp.Or(o.Session, defaultSession)
	return o
}

// client makes requests to the provider. Redirects are refused: their targets were
// not configured.
func (o OIDC) client() (*http.Client, error) {
	secure, err := o.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("web.oidc: tls: %w", err)
	}
	return &http.Client{Timeout: providerTimeout, Transport: &http.Transport{DialContext: o.Dial, TLSClientConfig: secure, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// openProvider returns nil where none is configured.
func openProvider(o OIDC, now func() time.Time) (*provider, error) {
	if !o.configured() {
		return nil, nil
	}
	o = o.withDefaults()
	if o.SecretFile != "" {
		if _, err := dial.Secret(o.SecretFile); err != nil {
			return nil, fmt.Errorf("web.oidc: client_secret_file: %w", err)
		}
	}
	client, err := o.client()
	return &provider{cfg: o, client: client, now: now}, err
}

// provider is an identity provider. Its metadata is requested at the first login,
// so that the service starts while the provider is unreachable.
type provider struct {
	cfg    OIDC
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	known *oidc.Provider
}

// discover returns the provider, asked within ctx where it is not known yet.
func (p *provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil {
		return p.known, nil
	}
	// Keys are read with the client of this context as long as the provider is used.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.cfg.Issuer)
	if err == nil {
		p.known = found
	}
	return found, err
}

// exchange is how users are sent to the provider and codes become tokens.
func (p *provider) exchange(known *oidc.Provider) (*oauth2.Config, error) {
	c := &oauth2.Config{ClientID: p.cfg.ClientID, Endpoint: known.Endpoint(), RedirectURL: p.cfg.Redirect, Scopes: p.cfg.Scopes}
	if p.cfg.SecretFile != "" {
		secret, err := dial.Secret(p.cfg.SecretFile)
		if err != nil {
			return nil, err
		}
		c.ClientSecret = secret
	}
	return c, nil
}

// errNoGroup means that a user may not use this server.
var errNoGroup = errors.New("none of the user's groups has a role here")

// verify returns the user of an ID token. nonce is the nonce that the token must
// carry; empty is none.
func (p *provider) verify(ctx context.Context, token, nonce string) (Principal, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return Principal{}, err
	}
	id, err := known.Verifier(&oidc.Config{ClientID: p.cfg.ClientID, Now: p.now}).Verify(oidc.ClientContext(ctx, p.client), token)
	if err != nil {
		return Principal{}, err
	}
	if id.Nonce != nonce && nonce != "" {
		return Principal{}, errors.New("the token is of another login")
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return Principal{}, err
	}
	who := Principal{Name: p.nameOf(claims, id.Subject), With: "oidc"}
	if err := checkName(who.Name); err != nil {
		return Principal{}, err
	}
	ok := false
	if who.Role, ok = p.cfg.roleOf(claims[p.cfg.GroupsClaim]); !ok {
		return who, errNoGroup
	}
	return who, nil
}

func (p *provider) nameOf(claims map[string]any, subject string) string {
	claim := p.cfg.NameClaim
	if claim == "" {
		claim = "preferred_username"
	}
	if name, _ := claims[claim].(string); name != "" {
		return name
	}
	return subject
}

// roleOf returns the role of a user by the groups that a claim lists.
func (o OIDC) roleOf(claim any) (role Role, ok bool) {
	var groups []string
	switch x := claim.(type) {
	case string:
		groups = []string{x}
	case []any:
		for _, g := range x {
			if name, _ := g.(string); name != "" {
				groups = append(groups, name)
			}
		}
	}
	most := -1
	for _, g := range groups {
		r, named := o.Groups[g]
		if rank := slices.Index([]Role{Push, Viewer, Operator, Admin}, r); named && rank > most {
			role, most = r, rank
		}
	}
	return role, most >= 0
}

// looksLikeJWT reports whether a bearer token has the form of an ID token.
func looksLikeJWT(token string) bool { return strings.Count(token, ".") == 2 }
