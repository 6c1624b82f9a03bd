package config

import (
	"net/netip"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/pipeline/access"
)

// Web configures the users of the page and the API, and how they are served.
type Web struct {
	Cert, Key string   // files
	ClientCA  string   // file; empty asks for no certificate
	Hosts     []string // further names under which it may be asked on loopback
	Users     []access.User
	UsersFile string // in the form of Prometheus's web configuration
	Roles     map[string]access.Role
	Proxy     access.Proxy
	OIDC      access.OIDC
}

func (r *reader) web(n *yaml.Node, c *Web) {
	before := len(r.problems)
	r.mapping(n, "web: ",
		field{"tls", func(n *yaml.Node) { r.webTLS(n, c) }},
		r.texts("hosts", &c.Hosts),
		field{"users", func(n *yaml.Node) { r.each(n, "web: users: ", func(n *yaml.Node) { r.user(n, c) }) }},
		r.text("users_file", &c.UsersFile),
		field{"roles", func(n *yaml.Node) { r.roles(n, "web: roles", &c.Roles) }},
		field{"oidc", func(n *yaml.Node) { r.oidc(n, &c.OIDC) }},
		field{"proxy", func(n *yaml.Node) {
			r.mapping(n, "web: proxy: ", r.text("header", &c.Proxy.Header), field{"from", func(n *yaml.Node) {
				r.each(n, "web: proxy: from: ", func(n *yaml.Node) { r.prefix(n, "web: proxy: from", &c.Proxy.From) })
			}})
		}})
	if len(r.problems) > before {
		return
	}
	if err := (access.Config{Users: c.Users, File: c.UsersFile, Roles: c.Roles, Proxy: c.Proxy, OIDC: c.OIDC}).Validate(); err != nil {
		r.fail(n, "%v", err)
	}
}

func (r *reader) webTLS(n *yaml.Node, c *Web) {
	r.mapping(n, "web: tls: ", r.text("cert", &c.Cert), r.text("key", &c.Key), r.text("client_ca", &c.ClientCA))
	if (c.Cert == "") != (c.Key == "") || c.ClientCA != "" && c.Cert == "" {
		r.fail(n, "web: tls: want both cert and key")
	}
}

func (r *reader) user(n *yaml.Node, c *Web) {
	u := access.User{Role: access.Admin}
	r.mapping(n, "web: users: ", r.text("name", &u.Name), r.text("password_file", &u.PasswordFile), r.text("password_hash", &u.PasswordHash), r.text("token_file", &u.TokenFile),
		field{"role", func(n *yaml.Node) { r.role(n, "web: users: role", &u.Role) }},
		field{"expires", func(n *yaml.Node) {
			at, err := time.Parse(time.RFC3339, n.Value)
			if err != nil {
				r.fail(n, "web: users: expires: want a time such as 2027-01-31T00:00:00Z")
			}
			u.Expires = at
		}})
	if err := u.Validate(); err != nil {
		r.fail(n, "web: users: %v", err)
		return
	}
	c.Users = append(c.Users, u)
}

func (r *reader) role(n *yaml.Node, key string, into *access.Role) {
	role, err := access.ParseRole(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		r.fail(n, "%s: want viewer, operator, admin or push", key)
		return
	}
	*into = role
}

// oidc reads how users log in at an identity provider.
func (r *reader) oidc(n *yaml.Node, c *access.OIDC) {
	r.mapping(n, "web: oidc: ", r.text("issuer", &c.Issuer), r.text("client_id", &c.ClientID), r.text("secret_file", &c.SecretFile), r.text("redirect", &c.Redirect),
		r.texts("scopes", &c.Scopes), r.text("name_claim", &c.NameClaim), r.text("groups_claim", &c.GroupsClaim), r.text("ca", &c.CA),
		field{"groups", func(n *yaml.Node) { r.roles(n, "web: oidc: groups", &c.Groups) }},
		r.span("session", &c.Session))
}

// roles reads a mapping of names to roles.
func (r *reader) roles(n *yaml.Node, key string, into *map[string]access.Role) {
	if empty(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%s: want a mapping of names to roles", key)
		return
	}
	*into = map[string]access.Role{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if _, twice := (*into)[name]; twice {
			r.fail(n.Content[i], "%s: duplicate name %q", key, name)
		}
		role := access.Viewer
		r.role(n.Content[i+1], key+": "+name, &role)
		(*into)[name] = role
	}
}

// prefix reads an address or a range of addresses.
func (r *reader) prefix(n *yaml.Node, key string, into *[]netip.Prefix) {
	p, err := netip.ParsePrefix(n.Value)
	if a, single := netip.ParseAddr(n.Value); single == nil {
		p, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	if err != nil {
		r.fail(n, "%s: want an address or a prefix such as 10.20.0.0/16", key)
		return
	}
	*into = append(*into, p)
}
