package config

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/pipeline/egress"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxFile bounds a configuration file.
const maxFile = 1 << 20

// File is a configuration file as it was read: what it does not state has its
// default.
type File struct {
	Path       string
	Site       telemetry.SiteConfig
	Listen     string // host:port of the page and the API
	Data       string // directory
	NATS       NATS
	Management []netip.Prefix
	Egress     egress.Guard
	Collectors []Collector
	Topology   []string // files of edges
	Signatures []string // extra folders
	Receivers  []Receiver
	Notify     Notify
	Web        Web
	Store      Store
	Named      []Named
}

// Named is a knowledge file that the configuration names: its purpose, and where it
// is named. Secrets and certificates are not included: a configuration is often
// checked on a machine without them.
type Named struct {
	Use          Use
	Path         string
	Line, Column int
}

// Use is the purpose of a file.
type Use uint8

// The uses.
const (
	ForRules    Use = iota + 1 // Prometheus rules
	ForTopology                // edges
)

// NATS is the address of the log: an embedded server, or an existing one.
type NATS struct {
	Embedded    bool
	Listen      string   // of our own server, for collectors elsewhere; none if empty
	Names       []string // further names and addresses in its certificate
	URLs        []string
	CA          string // file
	Credentials string // file
	Process     string // the name of this process in subjects; the host's name if empty
	Retain      time.Duration
	RetainBytes int64 // 0: what the disk has room for, 4 GiB at most
	Copies      int
	Sync        time.Duration
	Outbox      Outbox
}

// Collector is one entry below collectors, to be decoded by its owner.
type Collector struct {
	Kind string
	Node *yaml.Node
}

// Default returns the meaning of an empty file: one machine, on loopback.
func Default() *File {
	return &File{Site: telemetry.DefaultSiteConfig(), Listen: "127.0.0.1:8420", Data: "quintet-data",
		Notify: defaultNotify(), NATS: NATS{Embedded: true, Retain: time.Hour, Copies: 1, Sync: time.Second}}
}

// Read reads a file and returns all its errors and warnings. The File is nil if
// there is an error.
func Read(path string) (*File, []Problem) {
	text, err := readFile(path)
	if err != nil {
		return nil, []Problem{{Path: path, Text: err.Error()}}
	}
	return Parse(path, text)
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	return string(b), err
}

// Parse reads the text of a file.
func Parse(path, text string) (*File, []Problem) {
	r := &reader{path: path}
	f := Default()
	f.Path = path
	if n := r.document(text); n != nil {
		r.file(n, f)
	}
	f.Named = r.named
	if r.wrong() {
		return nil, r.problems
	}
	return f, r.problems
}

// later lists keys of design A9 that no command of this release reads.
func (r *reader) later(key string) field {
	return field{key, func(n *yaml.Node) {
		r.doubt(n, "%s: no command of this release reads it: its content is not checked", key)
	}}
}

func (r *reader) file(n *yaml.Node, f *File) {
	r.mapping(n, "",
		field{"site", func(n *yaml.Node) { r.site(n, &f.Site) }},
		field{"listen", func(n *yaml.Node) { r.address(n, "listen", &f.Listen) }},
		r.text("data", &f.Data),
		field{"nats", func(n *yaml.Node) { r.nats(n, &f.NATS) }},
		field{"management", func(n *yaml.Node) { r.prefixes(n, f) }},
		field{"egress", func(n *yaml.Node) { r.egress(n, f) }},
		field{"collectors", func(n *yaml.Node) { r.collectors(n, f) }},
		field{"topology", func(n *yaml.Node) { r.mapping(n, "topology: ", r.paths("files", ForTopology, &f.Topology)) }},
		r.later("jobs"),
		field{"signatures", func(n *yaml.Node) { r.signatures(n, f) }},
		field{"store", func(n *yaml.Node) { r.store(n, &f.Store) }},
		field{"notify", func(n *yaml.Node) { r.notify(n, f) }},
		field{"web", func(n *yaml.Node) { r.web(n, &f.Web) }},
	)
}

// site reads the settings of the engine.
func (r *reader) site(n *yaml.Node, c *telemetry.SiteConfig) {
	before := len(r.problems)
	l := &c.Lateness
	r.mapping(n, "site: ",
		r.text("name", &c.Site),
		r.span("grid", &c.Grid),
		field{"lateness", func(n *yaml.Node) {
			r.mapping(n, "site: lateness: ", r.span("prompt", &l[telemetry.Prompt]), r.span("delayed", &l[telemetry.Delayed]),
				r.span("slow", &l[telemetry.Slow]), r.span("batch", &l[telemetry.Batch]))
		}},
	)
	if err := c.Validate(); err != nil && len(r.problems) == before {
		r.fail(n, "%v", err)
	}
}

// address reads host:port.
func (r *reader) address(n *yaml.Node, key string, into *string) {
	if _, _, err := net.SplitHostPort(n.Value); err != nil || n.Kind != yaml.ScalarNode {
		r.fail(n, "%s: want an address such as 127.0.0.1:8420", key)
		return
	}
	*into = n.Value
}

func (r *reader) nats(n *yaml.Node, c *NATS) {
	copies := func(n *yaml.Node) {
		k := slices.Index([]string{"1", "2", "3", "4", "5"}, n.Value)
		if k < 0 {
			r.fail(n, "nats: copies: want 1 to 5")
			return
		}
		c.Copies = k + 1
	}
	r.mapping(n, "nats: ", r.truth("embedded", &c.Embedded),
		field{"listen", func(n *yaml.Node) { r.address(n, "nats: listen", &c.Listen) }},
		r.texts("names", &c.Names), r.texts("urls", &c.URLs), r.text("ca", &c.CA), r.text("credentials", &c.Credentials), r.text("process", &c.Process),
		r.span("retain", &c.Retain), r.size("retain_bytes", &c.RetainBytes), field{"copies", copies}, r.span("sync", &c.Sync),
		field{"outbox", func(n *yaml.Node) { r.outbox(n, &c.Outbox) }})
	switch {
	case len(c.URLs) > 0:
		c.Embedded = false
		if c.Listen != "" {
			r.fail(n, "nats: urls and listen: mutually exclusive: an existing server has its own address")
		}
	case !c.Embedded && !empty(n):
		r.fail(n, "nats: embedded is false: urls: required")
	}
}

func (r *reader) prefixes(n *yaml.Node, f *File) {
	r.each(n, "management: ", func(item *yaml.Node) {
		p, err := netip.ParsePrefix(item.Value)
		if err != nil {
			r.fail(item, "management: want a prefix such as 10.20.0.0/16: %v", err)
			return
		}
		f.Management = append(f.Management, p)
	})
}

// egress reads where messages and the history may be sent.
func (r *reader) egress(n *yaml.Node, f *File) {
	r.mapping(n, "egress: ", field{"allow", func(n *yaml.Node) {
		r.each(n, "egress: allow: ", func(item *yaml.Node) {
			if err := f.Egress.ParseTarget(item.Value); err != nil || item.Kind != yaml.ScalarNode {
				r.fail(item, "egress: allow: %v", err)
			}
		})
	}})
}

// collectors keeps the entries for their owners.
func (r *reader) collectors(n *yaml.Node, f *File) {
	if empty(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "collectors: want a mapping from kinds to lists")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		kind := n.Content[i].Value
		r.each(n.Content[i+1], "collectors: "+kind+": ", func(item *yaml.Node) { f.Collectors = append(f.Collectors, Collector{kind, item}) })
	}
}

// signatures checks the folders of signatures that the file names.
func (r *reader) signatures(n *yaml.Node, f *File) {
	r.each(n, "signatures: ", func(item *yaml.Node) {
		root, err := rules.Dir(item.Value)
		if err != nil {
			r.fail(item, "signatures: %v", err)
			return
		}
		for _, p := range rules.Check(root) {
			if p.Severity == rules.Warning {
				r.doubt(item, "signatures: %v", p)
				continue
			}
			r.fail(item, "signatures: %v", p)
		}
		f.Signatures = append(f.Signatures, item.Value)
	})
}
