package config

import (
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Store configures the history; zero fields have the defaults of package store.
type Store struct {
	Off         bool          // no history is kept
	Cadence     time.Duration // one sample of a series in so much time
	Retain      time.Duration
	RetainBytes int64
	MaxSeries   int
	Drop        []string // metrics that are not kept, as names or patterns
	Rules       []string // files of Prometheus rules
	Unraised    bool     // what the rules alert of is told to nobody
	RemoteWrite []RemoteWrite
	Labels      map[string]string // put on what is sent on
}

// RemoteWrite is a receiver of the history.
type RemoteWrite struct {
	Name, URL              string
	Username, PasswordFile string
	BearerFile             string
	CA, Cert, Key          string // files
	ServerName             string
	Headers                map[string]string
	Version                int // of the protocol; 0 is 1
}

// store reads the settings of the history.
func (r *reader) store(n *yaml.Node, c *Store) {
	keep, raise := true, true
	r.mapping(n, "store: ", r.truth("keep", &keep), r.span("cadence", &c.Cadence), r.days("retain", &c.Retain), r.size("retain_bytes", &c.RetainBytes),
		field{"metrics", func(n *yaml.Node) {
			r.mapping(n, "store: metrics: ", r.texts("drop", &c.Drop), r.count("max_series", &c.MaxSeries))
		}},
		r.paths("rules", ForRules, &c.Rules), r.truth("alerts", &raise),
		field{"remote_write", func(n *yaml.Node) {
			r.each(n, "store: remote_write: ", func(item *yaml.Node) { r.remoteWrite(item, c) })
		}},
		r.words("labels", "store: ", &c.Labels))
	c.Off, c.Unraised = !keep, !raise
	if c.Cadence != 0 && (c.Cadence < time.Second || c.Cadence > time.Minute) {
		r.fail(n, "store: cadence: %v: want 1 s to 1 min", c.Cadence)
	}
	for _, p := range c.Drop {
		if _, err := path.Match(p, ""); err != nil {
			r.fail(n, "store: metrics: drop: %q: %v", p, err)
		}
	}
}

// remoteWrite reads one receiver of the history.
func (r *reader) remoteWrite(n *yaml.Node, c *Store) {
	var w RemoteWrite
	const in = "store: remote_write: "
	r.mapping(n, in, r.text("name", &w.Name), r.text("url", &w.URL), r.text("username", &w.Username), r.text("password_file", &w.PasswordFile),
		r.text("bearer_file", &w.BearerFile), r.count("version", &w.Version), r.words("headers", in, &w.Headers),
		field{"tls", func(n *yaml.Node) {
			r.mapping(n, in+"tls: ", r.text("ca", &w.CA), r.text("cert", &w.Cert), r.text("key", &w.Key), r.text("server_name", &w.ServerName))
		}})
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.fail(n, in+"url: want one such as https://mimir.example/api/v1/push")
	case (w.Username == "") != (w.PasswordFile == ""), w.Username != "" && w.BearerFile != "":
		r.fail(n, in+"want username and password_file, or bearer_file, or neither")
	case (w.Cert == "") != (w.Key == ""):
		r.fail(n, in+"tls: want both cert and key")
	case w.Version > 2:
		r.fail(n, in+"version: want 1 or 2")
	default:
		c.RemoteWrite = append(c.RemoteWrite, w)
	}
}

// words reads a mapping of words.
func (r *reader) words(key, in string, into *map[string]string) field {
	return field{key, func(n *yaml.Node) {
		if err := n.Decode(into); err != nil {
			r.fail(n, "%s%s: want a mapping of words", in, key)
		}
	}}
}

// count reads a positive number.
func (r *reader) count(key string, into *int) field {
	return field{key, func(n *yaml.Node) {
		v, err := strconv.Atoi(n.Value)
		if err != nil || v <= 0 || n.Kind != yaml.ScalarNode {
			r.fail(n, "%s: want a positive number", key)
			return
		}
		*into = v
	}}
}

// days reads a length of time that may be given in days: 15d, 36h.
func (r *reader) days(key string, into *time.Duration) field {
	return field{key, func(n *yaml.Node) {
		if number, ok := strings.CutSuffix(n.Value, "d"); ok && n.Kind == yaml.ScalarNode {
			if d, err := strconv.Atoi(number); err == nil && d > 0 && d <= 36500 {
				*into = time.Duration(d) * 24 * time.Hour
				return
			}
		}
		r.span(key, into).read(n)
	}}
}
