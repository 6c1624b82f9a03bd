package scrape

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// Bounds and defaults of a configuration.
const (
	leastEvery     = time.Second
	mostEvery      = time.Hour
	defaultEvery   = 10 * time.Second
	defaultTimeout = 10 * time.Second
	defaultBody    = 16 << 20
	defaultSeries  = 1 << 16
)

// Config is one entry of "collectors: scrape:".
type Config struct {
	// Targets are the pages that are read; at least one.
	Targets []Target
	// Every is the time between readings, unless a target has its own; zero
	// means 10 s. What an exporter refreshes every 30 s is not newer for being
	// asked more often.
	Every time.Duration
	// Timeout is how long a page may take, at most Every or 5 s, whichever is
	// more; zero means 10 s.
	Timeout time.Duration
	// Mappings name mapping files that come with the program; nil means all.
	Mappings []string
	// Files are mapping files of the user's, which come first.
	Files []string
	// MaxBody is how long a page may be, unpacked, in bytes; zero means 16 MiB.
	// What is beyond is cut off and counted.
	MaxBody int
	// MaxSeries is how many series of ours a page may become, and MaxForeign
	// how many of those may be unknown to every mapping; zero means 65,536 and
	// 2,048.
	MaxSeries, MaxForeign int
	// TLS is for https.
	TLS dial.TLS
	// Username and PasswordFile, or TokenFile, are shown to the target; the
	// files are read anew for every page.
	Username, PasswordFile, TokenFile string
}

// Target is one page.
type Target struct {
	// URL is where it is: http or https.
	URL string
	// Name is the target's in sources and in the collector's own entity; ""
	// means the URL's host, port and path.
	Name string
	// Every replaces the entry's.
	Every time.Duration
	// Labels are what the target is told of itself, such as node, job, storage
	// or fabric: they come before labels of the same name on the page.
	Labels map[string]string
}

// DecodeConfig reads one entry of "collectors: scrape:". The error joins an
// *entry.Fault for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("scrape")
	var c Config
	every := entry.Span{Least: leastEvery, Most: mostEvery}
	texts := func(to *[]string, key string) func(*yaml.Node) {
		return func(v *yaml.Node) {
			r.List(v, key, func(x *yaml.Node) { *to = append(*to, r.Text(x, key)) })
		}
	}
	r.Entry(n,
		entry.Key{Name: "targets", Read: func(v *yaml.Node) {
			r.List(v, "targets", func(x *yaml.Node) { c.Targets = append(c.Targets, decodeTarget(r, x)) })
		}},
		entry.Key{Name: "every", Read: func(v *yaml.Node) { c.Every = r.Duration(v, "every", every) }},
		entry.Key{Name: "timeout", Read: func(v *yaml.Node) {
			c.Timeout = r.Duration(v, "timeout", entry.Span{Least: 100 * time.Millisecond, Most: 5 * time.Minute})
		}},
		entry.Key{Name: "mappings", Read: texts(&c.Mappings, "mappings")},
		entry.Key{Name: "files", Read: texts(&c.Files, "files")},
		entry.Key{Name: "max_body", Read: func(v *yaml.Node) { c.MaxBody = r.Whole(v, "max_body", 1<<10, 256<<20) }},
		entry.Key{Name: "max_series", Read: func(v *yaml.Node) { c.MaxSeries = r.Whole(v, "max_series", 1, 1<<20) }},
		entry.Key{Name: "max_foreign", Read: func(v *yaml.Node) { c.MaxForeign = r.Whole(v, "max_foreign", 1, 8192) }},
		entry.Key{Name: "tls", Read: func(v *yaml.Node) { c.TLS = dial.DecodeTLS(r, v) }},
		entry.Key{Name: "username", Read: func(v *yaml.Node) { c.Username = r.Name(v, "username", 256) }},
		entry.Key{Name: "password_file", Read: func(v *yaml.Node) { c.PasswordFile = r.Text(v, "password_file") }},
		entry.Key{Name: "token_file", Read: func(v *yaml.Node) { c.TokenFile = r.Text(v, "token_file") }},
	)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	if len(c.Targets) == 0 && n != nil {
		r.Fail(n, "targets: want at least one")
	}
	if (c.Username == "") != (c.PasswordFile == "") || c.Username != "" && c.TokenFile != "" {
		r.Fail(n, "username and password_file go together, and not with token_file")
	}
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

func decodeTarget(r *entry.Reader, n *yaml.Node) Target {
	t := Target{Labels: map[string]string{}}
	label := func(name string) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) { t.Labels[name] = r.Name(v, name, maxLabel) }}
	}
	r.Entry(n,
		entry.Key{Name: "url", Read: func(v *yaml.Node) {
			t.URL = r.Text(v, "url")
			if _, err := parseURL(t.URL); err != nil && t.URL != "" {
				r.Fail(v, "url: %v", err)
			}
		}},
		entry.Key{Name: "name", Read: func(v *yaml.Node) { t.Name = r.Name(v, "name", maxLabel) }},
		entry.Key{Name: "every", Read: func(v *yaml.Node) {
			t.Every = r.Duration(v, "every", entry.Span{Least: leastEvery, Most: mostEvery})
		}},
		label("node"), label("job"), label("storage"),
		entry.Key{Name: "labels", Read: func(v *yaml.Node) {
			if v.Kind != yaml.MappingNode {
				r.Fail(v, "labels: want names and values, found %s", entry.KindOf(v))
				return
			}
			for i := 0; i+1 < len(v.Content); i += 2 {
				t.Labels[v.Content[i].Value] = r.Name(v.Content[i+1], "labels", maxLabel)
			}
		}},
	)
	if t.URL == "" {
		r.Fail(n, "targets: want a url")
	}
	return t
}

// maxLabel bounds what a target is told of itself, in bytes.
const maxLabel = 120

var (
	errScheme = errors.New("want http:// or https:// and a host")
	errUser   = errors.New("want no user in it: username and password_file are for that")
)

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%.80q: %w", s, errScheme)
	case u.User != nil:
		return nil, errUser
	}
	return u, nil
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, defaultEvery)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.MaxBody = cmp.Or(c.MaxBody, defaultBody)
	c.MaxSeries = cmp.Or(c.MaxSeries, defaultSeries)
	c.MaxForeign = cmp.Or(c.MaxForeign, mapping.DefaultForeign)
	return c
}
