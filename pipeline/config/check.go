package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/settings"
)

// Named is a knowledge file, or a folder of them, that the configuration names: its purpose, and where it
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
	ForRules      Use = iota + 1 // Prometheus rules
	ForTopology                  // edges
	ForSignatures                // a folder of signatures
)

// checker looks at a file as a whole, once it is decoded.
type checker struct {
	path     string
	problems []Problem
}

func (c *checker) add(n *yaml.Node, doubt bool, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: c.path, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...), Doubt: doubt})
}

// check lists the files that f names, and reports what is doubtful about its routes. n
// is the document of f.
func (c *checker) check(n *yaml.Node, f *File) {
	if f.Jobs != nil {
		c.add(settings.Find(n, "jobs"), true, "jobs: nothing in this release reads it")
	}
	item := func(key string, i int) *yaml.Node { return settings.Find(n, fmt.Sprintf("%s.%d", key, i)) }
	for i, path := range f.Store.RuleFiles {
		at := item("store.rule_files", i)
		f.Named = append(f.Named, Named{ForRules, path, at.Line, at.Column})
	}
	for i, path := range f.Topology.Files {
		at := item("topology.files", i)
		f.Named = append(f.Named, Named{ForTopology, path, at.Line, at.Column})
	}
	for i, folder := range f.Signatures {
		at := item("signatures", i)
		f.Named = append(f.Named, Named{ForSignatures, folder, at.Line, at.Column})
	}
	routes := func(i int) *yaml.Node { return item("notify.routes", i) }
	c.routes(f.Notify, routes, settings.Find(n, "notify"))
}

// routes reports incidents that reach no receiver, and receivers that nothing reaches.
func (c *checker) routes(s Notify, at func(int) *yaml.Node, all *yaml.Node) {
	named := map[string]bool{}
	for i, x := range s.Routes {
		for _, name := range x.Receivers {
			named[name] = true
		}
		if len(x.Matchers) == 0 && !x.Continue && i < len(s.Routes)-1 {
			c.add(at(i+1), true, "notify: routes: unreachable: a route before it matches everything")
		}
	}
	if len(s.Routes) == 0 {
		return
	}
	for _, r := range s.Receivers {
		if !named[r.Name] {
			c.add(all, true, "notify: routes: none leads to receiver %s", r.Name)
		}
	}
	if last := len(s.Routes) - 1; len(s.Routes[last].Matchers) > 0 {
		c.add(at(last), true, "notify: routes: the last route has a matcher: what matches no route is not delivered")
	}
}
