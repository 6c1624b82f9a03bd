package redfish

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/discovery"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

// Ways to authenticate.
const (
	Session = "session" // one for the whole time, ended at the end
	Basic   = "basic"   // name and password with every request
	None    = "none"
)

// maxTimeout bounds how long a slow page is waited for.
const maxTimeout = 5 * time.Minute

// Target is one service: its address, or keys.
type Target struct {
	// Address is the service's: https://10.1.2.3, or host or host:port for that.
	Address string `yaml:"address"`
	// Entity is what the service is: the node of a BMC, the shelf, the cdu. {host} in it
	// is the host of the address.
	Entity string `yaml:"entity" example:"node:n001"`
	// Entities are the entities of resources, by path, where the mapping cannot
	// know them: a connector's loop.
	Entities map[string]string `yaml:"entities"`
}

// Set reads the short form: the address alone.
func (t *Target) Set(address string) error { t.Address = address; return nil }

// Entry is one entry of "collectors: redfish:": services that are read in the same way.
type Entry struct {
	// Targets are the services.
	Targets []Target `yaml:"targets" was:"address=0.address,entity=0.entity,entities=0.entities"`
	// FileSD names files with more of them; the label entity of a group is what its
	// targets are.
	FileSD []discovery.FileSD `yaml:"file_sd_configs"`
	// Entity is what targets are that have none of their own.
	Entity string `yaml:"default_entity" default:"node:{host}"`
	Config `yaml:",inline"`
}

// Config is the service that is read, how often, and as which entity.
type Config struct {
	// Address, Entity and Entities are those of the target.
	Address  string
	Entity   telemetry.Entity
	Entities map[string]telemetry.Entity
	// BasicAuth is the user. The password is read at every login, with basic
	// authentication every minute and after a 401. No user is no authentication.
	BasicAuth dial.BasicAuth `yaml:"basic_auth" was:"user=username,password_file=password_file"`
	// Auth is how the user is authenticated: by a session for the whole time, or
	// with every request. The default is a session where there is a user.
	Auth string `yaml:"auth" oneof:"session basic none"`
	// TLS is how the services are connected to.
	TLS dial.TLS `yaml:"tls"`
	// Every is how often readings are asked for.
	Every time.Duration `yaml:"interval" was:"every" default:"10s" min:"1s" max:"1h"`
	// Slow is how often counters and inventory are asked for.
	Slow time.Duration `yaml:"slow_interval" was:"slow" default:"1m" min:"1s" max:"1h"`
	// Walk is how often everything else is asked for.
	Walk time.Duration `yaml:"discovery_interval" was:"walk" default:"15m" min:"1m" max:"24h"`
	// Timeout is how long an answer is waited for; a page that takes longer is given
	// more the next time.
	Timeout time.Duration `yaml:"timeout" was:"patience" default:"1m" min:"1s" max:"5m"`
	// NoReports leaves out metric reports.
	NoReports bool `yaml:"reports" invert:"true"`
	// NoEvents leaves out the event stream.
	NoEvents bool `yaml:"events" invert:"true"`
	// NoLogs leaves out the logs.
	NoLogs bool `yaml:"logs" invert:"true"`
	// Groups reports firmware, model and part numbers as membership of groups. The
	// engine takes what is in one group for what may fail together.
	Groups bool `yaml:"groups"`
	// Mappings are files that define what resources mean, before the mapping that
	// comes with the program.
	Mappings []string `yaml:"mappings"`
}

// DecodeConfig reads an entry of the configuration, and returns the configuration of
// each of its targets. The error joins a *settings.Problem for everything that is wrong.
func DecodeConfig(n *yaml.Node) ([]Config, error) {
	var e Entry
	if err := settings.Decode("redfish", n, &e); err != nil {
		return nil, err
	}
	return e.configs()
}

// Validate reports targets that cannot be read.
func (e Entry) Validate() error {
	all, err := e.configs()
	if err == nil && len(all) == 0 && len(e.FileSD) == 0 {
		err = errors.New("required: the address of a service and its entity")
	}
	if err != nil {
		return &settings.KeyError{Key: "targets", Err: err}
	}
	return nil
}

// configs returns the configuration of each target, those of files last.
func (e Entry) configs() (out []Config, err error) {
	all := slices.Clone(e.Targets)
	groups, err := discovery.Read(e.FileSD)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		for _, address := range g.Targets {
			all = append(all, Target{Address: address, Entity: g.Labels["entity"]})
		}
	}
	seen := map[telemetry.Entity]string{}
	for _, t := range all {
		c, err := e.config(t)
		if err != nil {
			return nil, fmt.Errorf("%.80q: %w", t.Address, err)
		}
		if other, twice := seen[c.Entity]; twice {
			return nil, fmt.Errorf("%s: %.80q and %.80q: one service for each entity", c.Entity, other, t.Address)
		}
		seen[c.Entity] = t.Address
		out = append(out, c)
	}
	return out, nil
}

// config is the configuration of one target.
func (e Entry) config(t Target) (c Config, err error) {
	c = e.Config
	if c.Address = t.Address; t.Address == "" {
		return c, errors.New("address: required")
	}
	host := t.Address
	if _, rest, found := strings.Cut(host, "://"); found {
		host = rest
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if c.Entity, err = parseEntity(strings.ReplaceAll(cmp.Or(t.Entity, e.Entity), "{host}", strings.Trim(host, "/"))); err != nil {
		return c, err
	}
	c.Entities = map[string]telemetry.Entity{}
	for path, text := range t.Entities {
		if _, ok := split(clean(path)); !ok || clean(path) == root {
			return c, fmt.Errorf("entities: %.80q is not the path of a resource", path)
		}
		if c.Entities[path], err = parseEntity(text); err != nil {
			return c, fmt.Errorf("entities: %w", err)
		}
	}
	_, err = c.withDefaults()
	return c, err
}

func parseEntity(text string) (telemetry.Entity, error) {
	kind, name, ok := strings.Cut(text, ":")
	e := telemetry.Entity{Kind: telemetry.Kind(kind), Name: name}
	if !ok || e.Validate() != nil {
		return e, fmt.Errorf("want an entity such as node:n001, found %.80q", text)
	}
	return e, nil
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
		if c.BasicAuth.Any() {
			c.Auth = Session
		}
	}
	if err := c.BasicAuth.Validate(); err != nil {
		return c, err
	}
	if (c.Auth != None) != c.BasicAuth.Any() {
		return c, errors.New("auth and basic_auth: each requires the other")
	}
	if a, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && c.BasicAuth.Any() && (err != nil || !a.IsLoopback()) {
		return c, errors.New("address: a password does not go over http")
	}
	settings.Default(&c)
	c.Slow = max(c.Slow, c.Every)
	return c, nil
}
