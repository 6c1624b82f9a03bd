package gnmi

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
)

// Bounds and defaults of a configuration.
const (
	defaultPort      = "9339" // IANA's for gNMI
	defaultDialling  = 32
	defaultKeepalive = 30 * time.Second
	leastKeepalive   = 10 * time.Second // what gRPC allows
	maxTargets       = 4096
	maxName          = 100 // of a target: its ports' names have to fit too
)

// Target is a switch.
type Target struct {
	Address string // host:port
	Name    string // the switch's entity; "" is the host
	Profile string // "" is the entry's
}

// Config says which switches are read, and how.
type Config struct {
	Targets []Target
	// Profile is the name of one that comes with the program, or the path of a
	// file.
	Profile string
	// Every is the time between samples, at least a second; zero is a second.
	Every time.Duration
	// Names says which word names a port as the site knows it: "alias",
	// "description" or another that the profile reads; "native" its own name,
	// "" what the profile says.
	Names string
	// Domain is taken off the names of neighbours.
	Domain string
	// Queues has the numbers of queues and priorities stated beside those of
	// their ports.
	Queues bool
	TLS    dial.TLS
	// Plaintext leaves TLS out: for loopback and test benches. No password is
	// sent over it.
	Plaintext bool
	// UsernameFile and PasswordFile hold what is sent with every call; they are
	// read anew for every session.
	UsernameFile, PasswordFile string
	// Keepalive is after how long without a word a connection is asked whether
	// it lives; zero is 30 s.
	Keepalive time.Duration
	// Dialling is how many targets may be dialled at once; zero is 32.
	Dialling int
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	c.Every = cmp.Or(c.Every, leastEvery)
	c.Keepalive = cmp.Or(c.Keepalive, defaultKeepalive)
	c.Dialling = cmp.Or(c.Dialling, defaultDialling)
	if c.Names == "native" {
		c.Names = "-" // a word that no profile reads
	}
	switch {
	case len(c.Targets) == 0:
		return c, errors.New("targets: none")
	case len(c.Targets) > maxTargets:
		return c, fmt.Errorf("targets: %d, at most %d", len(c.Targets), maxTargets)
	case c.Plaintext && (c.UsernameFile != "" || c.PasswordFile != ""):
		return c, errors.New("plaintext: a password would be sent in the clear")
	}
	seen := map[string]bool{}
	for i := range c.Targets {
		t := &c.Targets[i]
		host, _, err := net.SplitHostPort(t.Address)
		if err != nil {
			host = t.Address
			t.Address = net.JoinHostPort(host, defaultPort)
		}
		t.Name = cmp.Or(t.Name, host)
		t.Profile = cmp.Or(t.Profile, c.Profile)
		switch {
		case host == "":
			return c, fmt.Errorf("targets: %q: no host", t.Address)
		case t.Profile == "":
			return c, fmt.Errorf("targets: %s: no profile", t.Name)
		case len(t.Name) > maxName:
			return c, fmt.Errorf("targets: %.40s…: a name of more than %d bytes", t.Name, maxName)
		case seen[t.Name]:
			return c, fmt.Errorf("targets: %s twice", t.Name)
		}
		seen[t.Name] = true
	}
	return c, nil
}

// DecodeConfig reads one entry of "collectors: gnmi:". Nothing but a key that is
// known, once, with a value of its kind passes. The error joins a *entry.Fault
// for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("gnmi")
	var c Config
	text := func(key string, to *string) entry.Key {
		return entry.Key{Name: key, Read: func(v *yaml.Node) { *to = r.Text(v, key) }}
	}
	var targets *yaml.Node
	r.Entry(n,
		entry.Key{Name: "targets", Read: func(v *yaml.Node) {
			targets = v
			r.List(v, "targets", func(x *yaml.Node) { c.Targets = append(c.Targets, decodeTarget(r, x)) })
		}},
		text("profile", &c.Profile), text("names", &c.Names), text("domain", &c.Domain),
		text("username_file", &c.UsernameFile), text("password_file", &c.PasswordFile),
		entry.Key{Name: "every", Read: func(v *yaml.Node) { c.Every = r.Duration(v, "every", entry.Span{Least: leastEvery, Most: mostEvery}) }},
		entry.Key{Name: "keepalive", Read: func(v *yaml.Node) {
			c.Keepalive = r.Duration(v, "keepalive", entry.Span{Least: leastKeepalive, Most: mostEvery})
		}},
		entry.Key{Name: "queues", Read: func(v *yaml.Node) { c.Queues = r.Flag(v, "queues") }},
		entry.Key{Name: "plaintext", Read: func(v *yaml.Node) { c.Plaintext = r.Flag(v, "plaintext") }},
		entry.Key{Name: "dialling", Read: func(v *yaml.Node) { c.Dialling = r.Whole(v, "dialling", 1, maxTargets) }},
		entry.Key{Name: "tls", Read: func(v *yaml.Node) { c.TLS = dial.DecodeTLS(r, v) }},
	)
	if r.Err() == nil {
		place := n
		if targets != nil {
			place = targets
		}
		if place == nil {
			place = &yaml.Node{Line: 1, Column: 1}
		}
		if _, err := c.withDefaults(); err != nil {
			r.Fail(place, "%v", err)
		}
	}
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// decodeTarget reads an address, or keys.
func decodeTarget(r *entry.Reader, n *yaml.Node) (t Target) {
	if n.Kind == yaml.ScalarNode {
		t.Address = r.Text(n, "targets")
		return t
	}
	r.Entry(n,
		entry.Key{Name: "address", Read: func(v *yaml.Node) { t.Address = r.Text(v, "address") }},
		entry.Key{Name: "name", Read: func(v *yaml.Node) { t.Name = r.Name(v, "name", maxName) }},
		entry.Key{Name: "profile", Read: func(v *yaml.Node) { t.Profile = r.Text(v, "profile") }},
	)
	return t
}
