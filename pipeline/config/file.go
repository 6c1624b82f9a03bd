package config

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/pipeline/egress"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

// File is a configuration file as it was read: a key that it does not set has its
// default.
type File struct {
	Path string
	// Site is the site that is watched.
	Site Site `yaml:"site"`
	// Listen is where the page and the API are.
	Listen string `yaml:"listen" default:"127.0.0.1:8420" format:"address"`
	// Data is the folder of the log, the history, keys and messages that are not sent yet.
	Data string `yaml:"data" default:"quintet-data"`
	// NATS is the log: a server of our own, or existing ones.
	NATS NATS `yaml:"nats"`
	// Management are the prefixes of the networks in which collectors connect and
	// listen; loopback only where there is none.
	Management []netip.Prefix `yaml:"management" example:"[10.20.0.0/16]"`
	// Egress limits where messages and the history are sent.
	Egress Egress `yaml:"egress"`
	// Collectors are entries by kind of collector; the host's own counters (sysfs) where
	// there is none.
	Collectors Collectors `yaml:"collectors"`
	// Jobs is kept for settings of jobs. Nothing reads it in this release.
	Jobs map[string]*yaml.Node `yaml:"jobs"`
	// Topology is what no collector can read.
	Topology Topology `yaml:"topology"`
	// Signatures are folders of faults of your own, in addition to those of the program.
	Signatures []string `yaml:"signatures" example:"[/etc/quintet/signatures]"`
	// Store is the history of the site's series.
	Store Store `yaml:"store"`
	// Notify is who receives what.
	Notify Notify `yaml:"notify"`
	// Web is who may use the page and the API, and how they are served.
	Web Web `yaml:"web"`

	// Named are the knowledge files that the configuration names.
	Named []Named
}

// Site configures the engine. Neither grid nor lateness changes in a log that has
// begun.
type Site struct {
	// Name is part of every incident's id and of every subject.
	Name string `yaml:"name" default:"site"`
	// Grid is the time step of the engine.
	Grid telemetry.Duration `yaml:"grid" default:"1s"`
	// Lateness is how late samples of each class may be, in whole steps.
	Lateness Lateness `yaml:"lateness"`
}

// Lateness is how late samples may be, by the class of their source.
type Lateness struct {
	// Prompt is for sources that are read every second or that stream.
	Prompt telemetry.Duration `yaml:"prompt" default:"2s"`
	// Delayed is for sources that are read every few seconds.
	Delayed telemetry.Duration `yaml:"delayed" default:"15s"`
	// Slow is for controllers that take their time.
	Slow telemetry.Duration `yaml:"slow" default:"1m"`
	// Batch is for files and exports.
	Batch telemetry.Duration `yaml:"batch" default:"5m"`
}

// Config returns the settings of the engine.
func (s Site) Config() telemetry.SiteConfig {
	l := s.Lateness
	return telemetry.SiteConfig{Site: s.Name, Grid: s.Grid, Lateness: telemetry.Lateness{
		telemetry.Prompt: l.Prompt, telemetry.Delayed: l.Delayed, telemetry.Slow: l.Slow, telemetry.Batch: l.Batch}}
}

// SiteOf returns the site that has these settings of the engine.
func SiteOf(c telemetry.SiteConfig) Site {
	l := c.Lateness
	return Site{Name: c.Site, Grid: c.Grid, Lateness: Lateness{l[telemetry.Prompt], l[telemetry.Delayed], l[telemetry.Slow], l[telemetry.Batch]}}
}

// Validate reports times that the engine does not accept.
func (s Site) Validate() error { return s.Config().Validate() }

// Egress limits where messages and the history are sent.
type Egress struct {
	// Allow are the allowed targets: prefixes, addresses, names, *.example.org. Anywhere
	// is allowed where there is none, but link-local and metadata addresses never are.
	Allow []Target `yaml:"allow" example:"[10.0.0.0/8, '*.example.org']"`
}

// Target is a target that package egress accepts.
type Target string

// Set reads a target.
func (t *Target) Set(text string) error {
	*t = Target(text)
	return new(egress.Guard).ParseTarget(text)
}

// Guard returns the guard of the allowed targets.
func (e Egress) Guard() (g egress.Guard) {
	for _, t := range e.Allow {
		_ = g.ParseTarget(string(t)) // was read by it
	}
	return g
}

// Topology names files of edges.
type Topology struct {
	// Files are files of edges, in the form of POST /api/v1/edges. They are read again
	// when they change.
	Files []string `yaml:"files" example:"[/etc/quintet/fabric.json]"`
}

// Collectors are the entries of each kind of collector, to be decoded by their owners.
type Collectors map[string][]*yaml.Node

// Collector is one entry below collectors.
type Collector struct {
	Kind string
	Node *yaml.Node
}

// Entries returns the entries in the order of the file.
func (c Collectors) Entries() (out []Collector) {
	for kind, nodes := range c {
		for _, n := range nodes {
			out = append(out, Collector{kind, n})
		}
	}
	at := func(n *yaml.Node) [2]int {
		if n == nil {
			return [2]int{}
		}
		return [2]int{n.Line, n.Column}
	}
	slices.SortStableFunc(out, func(a, b Collector) int {
		x, y := at(a.Node), at(b.Node)
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), strings.Compare(a.Kind, b.Kind))
	})
	return out
}

// Default returns the meaning of an empty file: one machine, on loopback.
func Default() *File {
	f := new(File)
	settings.Default(f)
	return f
}
