package gnmi

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/discovery"
	"github.com/quintet-dc/quintet/settings"
)

// Bounds of a configuration.
const (
	defaultPort = "9339" // IANA's for gNMI
	maxTargets  = 4096
	maxName     = 100 // of a target: its ports' names have to fit too
)

// Target is a switch: its address, or keys.
type Target struct {
	// Address is host:port; the default port is 9339.
	Address string `yaml:"address"`
	// Name is the switch's entity; the default is the host.
	Name string `yaml:"name" max:"100"`
	// Profile is in place of the entry's.
	Profile string `yaml:"profile"`
}

// Set reads the short form: the address alone.
func (t *Target) Set(address string) error { t.Address = address; return nil }

// Config defines which switches are read, and how.
type Config struct {
	// Targets are the switches.
	Targets []Target `yaml:"targets" example:"[spine1:9339]"`
	// FileSD names files with more of them; the labels name and profile of a group are
	// those of its targets.
	FileSD []discovery.FileSD `yaml:"file_sd_configs"`
	// Profile is the name of one that comes with the program, or the path of a file.
	Profile string `yaml:"profile" example:"sonic"`
	// Every is the time between samples.
	Every time.Duration `yaml:"interval" was:"every" default:"1s" min:"1s" max:"1h"`
	// Names is the field that names a port as the site knows it: "alias",
	// "description" or another that the profile reads; "native" is its own name.
	// The default is the profile's.
	Names string `yaml:"names"`
	// Domain is taken off the names of neighbours.
	Domain string `yaml:"domain"`
	// Queues carries the numbers of queues and priorities in addition to those of their
	// ports.
	Queues bool `yaml:"queues"`
	// TLS is how the switches are connected to.
	TLS dial.TLS `yaml:"tls"`
	// Plaintext leaves TLS out: for loopback and test benches. No password is sent
	// over it.
	Plaintext bool `yaml:"plaintext"`
	// BasicAuth is sent with every call; its files are read for every session.
	BasicAuth dial.BasicAuth `yaml:"basic_auth" was:"username_file=username_file,password_file=password_file"`
	// Keepalive is after how long without data a connection is probed.
	Keepalive time.Duration `yaml:"keepalive" default:"30s" min:"10s" max:"1h"`
	// Dialling is how many targets may be connected to at once.
	Dialling int `yaml:"concurrency" was:"dialling" default:"32" max:"4096"`
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	settings.Default(&c)
	if err := c.discover(); err != nil {
		return c, err
	}
	if c.Names == "native" {
		c.Names = "-" // a word that no profile reads
	}
	switch {
	case len(c.Targets) == 0:
		return c, errors.New("required")
	case len(c.Targets) > maxTargets:
		return c, fmt.Errorf("%d, at most %d", len(c.Targets), maxTargets)
	case c.Plaintext && c.BasicAuth.Any():
		return c, errors.New("plaintext: a password would be sent in the clear")
	}
	seen, own := map[string]bool{}, slices.Clone(c.Targets)
	c.Targets = own
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
			return c, fmt.Errorf("%q: no host", t.Address)
		case t.Profile == "":
			return c, fmt.Errorf("%s: profile: required", t.Name)
		case len(t.Name) > maxName:
			return c, fmt.Errorf("%.40s…: a name of more than %d bytes", t.Name, maxName)
		case seen[t.Name]:
			return c, fmt.Errorf("%s twice", t.Name)
		}
		seen[t.Name] = true
	}
	return c, nil
}

// discover adds the targets of files.
func (c *Config) discover() error {
	groups, err := discovery.Read(c.FileSD)
	c.FileSD = nil // they are read once
	for _, g := range groups {
		for _, address := range g.Targets {
			t := Target{Address: address, Profile: g.Labels["profile"]}
			if len(g.Targets) == 1 {
				t.Name = g.Labels["name"]
			}
			c.Targets = append(c.Targets, t)
		}
	}
	return err
}

// Validate reports targets that cannot be distinguished or read.
func (c Config) Validate() error {
	if _, err := c.withDefaults(); err != nil {
		return &settings.KeyError{Key: "targets", Err: err}
	}
	return nil
}
