package scrape

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/discovery"
	"github.com/quintet-dc/quintet/settings"
)

// Config is one entry of "collectors: scrape:".
type Config struct {
	// Targets are the pages that are read.
	Targets []Target `yaml:"targets" example:"[{url: 'http://127.0.0.1:9400/metrics', labels: {node: n001}}]"`
	// FileSD names files with more of them: a target is a URL, or an address whose
	// page is http://address/metrics.
	FileSD []discovery.FileSD `yaml:"file_sd_configs"`
	// Every is the time between readings, unless a target has its own. What an
	// exporter refreshes every 30 s is not newer for being asked more often.
	Every time.Duration `yaml:"interval" was:"every" default:"10s" min:"1s" max:"1h"`
	// Timeout is how long a page may take, at most interval or 5 s, whichever is more.
	Timeout time.Duration `yaml:"timeout" default:"10s" min:"100ms" max:"5m"`
	// Mappings name mapping files that come with the program; the default is all.
	Mappings []string `yaml:"mappings"`
	// Files are mapping files of the site's, which come first.
	Files []string `yaml:"files"`
	// MaxBody is how long a page may be, unpacked, in bytes. What is beyond is cut off
	// and counted.
	MaxBody int `yaml:"max_body" default:"16777216" min:"1024" max:"268435456"`
	// MaxSeries is how many series a page may become.
	MaxSeries int `yaml:"max_series" default:"65536" max:"1048576"`
	// MaxForeign is how many of those may be unknown to every mapping.
	MaxForeign int `yaml:"max_foreign" default:"2048" max:"8192"`
	// TLS is for https.
	TLS dial.TLS `yaml:"tls"`
	// BasicAuth is shown to the target; its files are read for every page.
	BasicAuth dial.BasicAuth `yaml:"basic_auth" was:"username=username,password_file=password_file"`
	// Authorization is shown to the target, in place of basic_auth.
	Authorization dial.Authorization `yaml:"authorization" was:"token_file=credentials_file"`
}

// Target is one page: its URL, or keys.
type Target struct {
	// URL is where it is: http or https.
	URL string `yaml:"url"`
	// Name is the target's in sources and in the collector's own entity; the default is
	// the URL's host, port and path.
	Name string `yaml:"name" max:"120"`
	// Every replaces the entry's.
	Every time.Duration `yaml:"interval" was:"every" min:"1s" max:"1h"`
	// Labels are what is known of the target, such as node, job, storage or fabric:
	// they come before labels of the same name on the page.
	Labels map[string]string `yaml:"labels" was:"node=node,job=job,storage=storage"`
}

// Set reads the short form: the URL, or an address.
func (t *Target) Set(text string) error {
	if !strings.Contains(text, "://") {
		text = "http://" + text + "/metrics"
	}
	t.URL = text
	return t.Validate()
}

// Validate reports an invalid URL, and labels that are too long.
func (t Target) Validate() error {
	if t.URL == "" {
		return errors.New("url: required")
	}
	if _, err := parseURL(t.URL); err != nil {
		return &settings.KeyError{Key: "url", Err: err}
	}
	for name, value := range t.Labels {
		if len(value) > maxLabel {
			return settings.Errorf("labels", "%.40s: want at most %d bytes", name, maxLabel)
		}
	}
	return nil
}

// Validate reports what excludes or requires something else.
func (c Config) Validate() error {
	switch {
	case len(c.Targets)+len(c.FileSD) == 0:
		return settings.Errorf("targets", "required")
	case c.BasicAuth.Any() && c.Authorization.CredentialsFile != "":
		return errors.New("basic_auth and authorization: mutually exclusive")
	}
	all, err := c.discovered()
	seen := map[string]bool{}
	for _, t := range all {
		if key := cmp.Or(t.Name, t.URL); seen[key] {
			return settings.Errorf("targets", "%.80s twice", key)
		} else {
			seen[key] = true
		}
	}
	return err
}

// discovered returns the targets, with those of files.
func (c Config) discovered() ([]Target, error) {
	out := slices.Clone(c.Targets)
	groups, err := discovery.Read(c.FileSD)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		for _, address := range g.Targets {
			t := Target{Labels: g.Labels}
			if err := t.Set(address); err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// maxLabel bounds a label configured for a target, in bytes.
const maxLabel = 120

var (
	errScheme = errors.New("want http:// or https:// and a host")
	errUser   = errors.New("want no user in it: use basic_auth")
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
func (c Config) withDefaults() (Config, error) {
	settings.Default(&c)
	var err error
	c.Targets, err = c.discovered()
	c.FileSD = nil
	return c, err
}
