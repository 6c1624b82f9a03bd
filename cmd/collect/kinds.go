package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/collectors/standard"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/settings"
)

// Collectors returns the collectors that a configuration names; where it names
// none, the one that reads this host.
func Collectors(file *config.File) ([]collectors.Spec, error) {
	if len(file.Collectors) == 0 {
		file.Collectors = config.Collectors{"sysfs": {nil}}
	}
	specs, problems := Specs(file)
	var wrong []error
	for _, p := range problems {
		if !p.Doubt {
			wrong = append(wrong, p)
		}
	}
	return specs, errors.Join(wrong...)
}

// Specs makes the collectors that a configuration names, each entry decoded by its
// owner: one for each entry, or one for each target of it.
func Specs(file *config.File) (specs []collectors.Spec, problems []config.Problem) {
	count, guard := map[string]int{}, dial.Guard{Prefixes: file.Management}
	for _, c := range file.Collectors.Entries() {
		k, known := KindOf(c.Kind)
		if known {
			problems = append(problems, config.Former(file.Path, settings.Rename(c.Node, k.Settings))...)
		}
		made, err := open(c, guard)
		if err == nil && k.Single && count[c.Kind] > 0 {
			err = errors.New("duplicate: a process can have one entry of this kind")
		}
		if err != nil {
			problems = append(problems, problemsOf(file.Path, c, err)...)
			continue
		}
		if f, ok := made[0].(interface{ FormerKeys() []mapping.Former }); ok {
			for _, file := range f.FormerKeys() {
				problems = append(problems, config.Former(file.Path, file.Keys)...)
			}
		}
		for _, m := range made {
			count[c.Kind]++
			name := c.Kind
			if n := count[c.Kind]; n > 1 {
				name = fmt.Sprintf("%s-%d", c.Kind, n)
			}
			specs = append(specs, collectors.Spec{Name: name, Target: m.Target(), Collector: m})
		}
	}
	return specs, problems
}

// open decodes an entry by the collector of its kind, and makes it.
func open(c config.Collector, g dial.Guard) ([]kind.Collector, error) {
	k, ok := KindOf(c.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown kind of collector: want one of %s", strings.Join(names(), ", "))
	}
	return k.Open(c.Node, g)
}

// KindOf returns the kind of collector of a name.
func KindOf(name string) (kind.Kind, bool) {
	all := standard.Kinds()
	i := slices.IndexFunc(all, func(k kind.Kind) bool { return k.Name == name })
	if i < 0 {
		return kind.Kind{}, false
	}
	return all[i], true
}

// names lists the kinds of collectors.
func names() (out []string) {
	for _, k := range standard.Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// problemsOf gives each problem that an owner found its place in the file.
func problemsOf(path string, c config.Collector, err error) (out []config.Problem) {
	var placed *settings.Problem
	own := errors.As(err, &placed)
	for _, p := range settings.Problems(c.Node, err) {
		text := "collectors: " + p.Text
		if !own {
			text = fmt.Sprintf("collectors: %s: %s", c.Kind, p.Text)
		}
		out = append(out, config.Problem{Path: path, Line: p.Line, Column: p.Column, Text: text})
	}
	return out
}
