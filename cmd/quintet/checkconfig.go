package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// checkConfig checks configuration files (design A9).
type checkConfig struct {
	Files []string `arg:"" help:"Configuration files."`
}

// maxConfig bounds a configuration file.
const maxConfig = 4 << 20

// Run checks every file.
func (c *checkConfig) Run(sh *shell) error {
	v := &verdict{sh: sh}
	for _, path := range c.Files {
		b, err := readBounded(path, maxConfig)
		if err != nil {
			v.fail(fmt.Errorf("check config: %w", err))
			continue
		}
		(&configFile{v, path}).check(b)
	}
	return v.end()
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", path, limit)
	}
	return b, err
}

// configFile is a configuration file being checked.
type configFile struct {
	*verdict
	path string
}

// configKeys are the keys of a configuration file. Those that no command of
// this release reads are known by name only.
func configKeys() []string {
	return []string{"site", "listen", "data", "nats", "management", "collectors", "topology", "jobs", "signatures", "store", "notify", "web"}
}

func (f *configFile) failAt(n *yaml.Node, format string, args ...any) {
	f.fail(fmt.Errorf("%s:%d:%d: %s", f.path, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// check reads one document, whose keys are all known.
func (f *configFile) check(b []byte) {
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(string(b)))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return // empty: every key has a default
	}
	if err != nil {
		f.fail(fmt.Errorf("%s: %w", f.path, err))
		return
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		f.fail(fmt.Errorf("%s: more than one document", f.path))
	}
	f.mapping(doc.Content[0], "", configKeys(), func(key, value *yaml.Node) {
		switch key.Value {
		case "site":
			f.site(value)
		case "signatures":
			f.signatures(value)
		default:
			f.doubt("%s:%d:%d: %s: no command of this release reads it: its content is not checked", f.path, key.Line, key.Column, key.Value)
		}
	})
}

// mapping gives every key of a mapping, known and stated once, to fn.
func (f *configFile) mapping(n *yaml.Node, in string, known []string, fn func(key, value *yaml.Node)) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		f.failAt(n, "%swant a mapping of keys", in)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		line, twice := seen[key.Value]
		seen[key.Value] = key.Line
		switch {
		case twice:
			f.failAt(key, "%skey %q is also in line %d", in, key.Value, line)
		case !slices.Contains(known, key.Value):
			f.failAt(key, "%sunknown key %q: want one of %s", in, key.Value, strings.Join(known, ", "))
		default:
			fn(key, n.Content[i+1])
		}
	}
}

// site checks what the engine would be set to.
func (f *configFile) site(n *yaml.Node) {
	c := telemetry.DefaultSiteConfig()
	classes := []string{"prompt", "delayed", "slow", "batch"}
	sound := true
	read := func(value *yaml.Node, into *telemetry.Duration) {
		d, err := time.ParseDuration(value.Value)
		if err != nil || value.Kind != yaml.ScalarNode {
			f.failAt(value, "site: want a length of time such as 2s or 500ms")
			sound = false
			return
		}
		*into = d
	}
	f.mapping(n, "site: ", []string{"name", "grid", "lateness"}, func(key, value *yaml.Node) {
		switch key.Value {
		case "name":
			if value.Kind != yaml.ScalarNode || value.Value == "" {
				f.failAt(value, "site: name: want a word")
			}
		case "grid":
			read(value, &c.Grid)
		case "lateness":
			f.mapping(value, "site: lateness: ", classes, func(key, value *yaml.Node) { read(value, &c.Lateness[slices.Index(classes, key.Value)]) })
		}
	})
	if err := c.Validate(); err != nil && sound {
		f.failAt(n, "%v", err)
	}
}

// signatures checks the folders of signatures that the file names.
func (f *configFile) signatures(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		f.failAt(n, "signatures: want a list of folders")
		return
	}
	for _, item := range n.Content {
		root, err := rules.Dir(item.Value)
		if err != nil {
			f.failAt(item, "signatures: %v", err)
			continue
		}
		f.rules(root)
	}
}
