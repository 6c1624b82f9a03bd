package redfish

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/telemetry"
)

// Ways to say who one is.
const (
	Session = "session" // one for the whole time, ended at the end
	Basic   = "basic"   // name and password with every request
	None    = "none"
)

// Bounds and defaults of a configuration.
const (
	DefaultEvery    = 10 * time.Second
	DefaultSlow     = time.Minute
	DefaultWalk     = 15 * time.Minute
	DefaultPatience = 60 * time.Second
	leastEvery      = time.Second // what a device is asked at most (design B6)
	mostEvery       = time.Hour
	mostPatience    = 5 * time.Minute
)

// Config says what is read, how often, and as what.
type Config struct {
	// Address is the service's: https://10.1.2.3, or host or host:port for that.
	Address string
	// Entity is what the service is: the node of a BMC, the shelf, the cdu.
	Entity telemetry.Entity
	// Entities says which resource is which thing, by path, where the mapping
	// cannot know: a connector's loop.
	Entities map[string]telemetry.Entity
	// User and the password in PasswordFile, which is read at every login, with
	// basic authentication every minute and after a 401. No user is no
	// authentication.
	User, PasswordFile string
	// Auth is Session, Basic or None; "" is Session with a user, else None.
	Auth string
	TLS  dial.TLS
	// Every, Slow and Walk are how often readings, counters and inventory, and
	// everything else are asked for. Zero means the default.
	Every, Slow, Walk time.Duration
	// Patience is how long an answer is waited for; a page that takes longer is
	// given more the next time. Zero means a minute.
	Patience time.Duration
	// NoReports, NoEvents and NoLogs leave out metric reports, the event stream
	// and the logs.
	NoReports, NoEvents, NoLogs bool
	// Groups states firmware, model and part numbers as membership of groups.
	// The engine takes what is in one group for what may fail together.
	Groups bool
	// Mappings are files that say what resources mean, before the mapping that
	// comes with the program.
	Mappings []string
}

// DecodeConfig reads an entry of the configuration.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("redfish")
	var c Config
	often := entry.Span{Least: leastEvery, Most: mostEvery}
	text := func(key string, to *string) entry.Key {
		return entry.Key{Name: key, Read: func(x *yaml.Node) { *to = r.Text(x, key) }}
	}
	span := func(key string, to *time.Duration, within entry.Span) entry.Key {
		return entry.Key{Name: key, Read: func(x *yaml.Node) { *to = r.Duration(x, key, within) }}
	}
	not := func(key string, to *bool) entry.Key {
		return entry.Key{Name: key, Read: func(x *yaml.Node) { *to = !r.Flag(x, key) }}
	}
	r.Entry(n,
		text("address", &c.Address),
		entry.Key{Name: "entity", Read: func(x *yaml.Node) { c.Entity = readEntity(r, x) }},
		entry.Key{Name: "entities", Read: func(x *yaml.Node) { c.Entities = readEntities(r, x) }},
		text("user", &c.User),
		text("password_file", &c.PasswordFile),
		entry.Key{Name: "auth", Read: func(x *yaml.Node) { c.Auth = r.OneOf(x, "auth", Session, Basic, None) }},
		entry.Key{Name: "tls", Read: func(x *yaml.Node) { c.TLS = dial.DecodeTLS(r, x) }},
		span("every", &c.Every, often), span("slow", &c.Slow, often), span("walk", &c.Walk, entry.Span{Least: time.Minute, Most: 24 * time.Hour}),
		span("patience", &c.Patience, entry.Span{Least: time.Second, Most: mostPatience}),
		not("reports", &c.NoReports), not("events", &c.NoEvents), not("logs", &c.NoLogs),
		entry.Key{Name: "groups", Read: func(x *yaml.Node) { c.Groups = r.Flag(x, "groups") }},
		entry.Key{Name: "mappings", Read: func(x *yaml.Node) {
			r.List(x, "mappings", func(y *yaml.Node) { c.Mappings = append(c.Mappings, r.Text(y, "mappings")) })
		}},
	)
	if err := r.Err(); err != nil {
		return c, err
	}
	if _, err := c.withDefaults(); err != nil {
		r.Fail(n, "%v", err)
	}
	return c, r.Err()
}

func readEntity(r *entry.Reader, n *yaml.Node) telemetry.Entity {
	kind, name, ok := strings.Cut(n.Value, ":")
	e := telemetry.Entity{Kind: telemetry.Kind(kind), Name: name}
	if n.Kind != yaml.ScalarNode || !ok || e.Validate() != nil {
		r.Fail(n, "want an entity such as node:n001, found %s", entry.KindOf(n))
	}
	return e
}

func readEntities(r *entry.Reader, n *yaml.Node) map[string]telemetry.Entity {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "entities: want paths and entities, found %s", entry.KindOf(n))
		return nil
	}
	out := map[string]telemetry.Entity{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, ok := split(clean(key.Value)); !ok || clean(key.Value) == root {
			r.Fail(key, "entities: %.80q is no path of a resource", key.Value)
		}
		out[key.Value] = readEntity(r, n.Content[i+1])
	}
	return out
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	if c.Address == "" {
		return c, errors.New("address: missing")
	}
	if c.Entity.IsZero() {
		return c, errors.New("entity: missing: what the service is, such as node:n001")
	}
	if !strings.Contains(c.Address, "://") {
		c.Address = "https://" + c.Address
	}
	u, err := url.Parse(c.Address)
	switch {
	case err != nil:
		return c, fmt.Errorf("address: %w", err)
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return c, fmt.Errorf("address: %q: want https://host or https://host:port", c.Address)
	}
	c.Address = u.Scheme + "://" + u.Host
	if c.Auth == "" {
		c.Auth = None
		if c.User != "" {
			c.Auth = Session
		}
	}
	if (c.Auth != None) != (c.User != "") || (c.User != "") != (c.PasswordFile != "") {
		return c, errors.New("user, password_file and auth: one without the other")
	}
	if a, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && c.User != "" && (err != nil || !a.IsLoopback()) {
		return c, errors.New("address: a password does not go over http")
	}
	c.Every, c.Slow, c.Walk = cmp.Or(c.Every, DefaultEvery), cmp.Or(c.Slow, DefaultSlow), cmp.Or(c.Walk, DefaultWalk)
	c.Patience = cmp.Or(c.Patience, DefaultPatience)
	c.Slow = max(c.Slow, c.Every)
	return c, nil
}
