package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/standard"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// Collectors returns the collectors that a configuration names; where it names
// none, the one that reads this host.
func Collectors(file *config.File) ([]collectors.Spec, error) {
	if len(file.Collectors) == 0 {
		file.Collectors = []config.Collector{{Kind: "sysfs"}}
	}
	specs, problems := Specs(file)
	var wrong []error
	for _, p := range problems {
		wrong = append(wrong, p)
	}
	return specs, errors.Join(wrong...)
}

// Specs makes the collectors that a configuration names, each decoded
// by its owner.
func Specs(file *config.File) (specs []collectors.Spec, problems []config.Problem) {
	count, guard := map[string]int{}, dial.Guard{Prefixes: file.Management}
	for _, c := range file.Collectors {
		count[c.Kind]++
		name := c.Kind
		if n := count[c.Kind]; n > 1 {
			name = fmt.Sprintf("%s-%d", c.Kind, n)
		}
		spec, err := open(c, name, guard)
		if k, _ := KindOf(c.Kind); err == nil && k.Single && count[c.Kind] > 1 {
			err = errors.New("duplicate: a process can have one entry of this kind")
		}
		if err != nil {
			problems = append(problems, problemsOf(file.Path, c, err)...)
			continue
		}
		specs = append(specs, spec)
	}
	return specs, problems
}

// open decodes an entry by the collector of its kind, and makes it.
func open(c config.Collector, name string, g dial.Guard) (collectors.Spec, error) {
	k, ok := KindOf(c.Kind)
	if !ok {
		return collectors.Spec{}, fmt.Errorf("unknown kind of collector: want one of %s", strings.Join(names(), ", "))
	}
	made, err := k.Open(c.Node, g)
	if err != nil {
		return collectors.Spec{}, err
	}
	return collectors.Spec{Name: name, Target: made.Target(), Collector: made}, nil
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

// problemsOf gives each fault that an owner found its place in the file.
func problemsOf(path string, c config.Collector, err error) []config.Problem {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var out []config.Problem
		for _, e := range joined.Unwrap() {
			out = append(out, problemsOf(path, c, e)...)
		}
		return out
	}
	p := config.Problem{Path: path, Text: fmt.Sprintf("collectors: %s: %v", c.Kind, err)}
	if c.Node != nil {
		p.Line, p.Column = c.Node.Line, c.Node.Column
	}
	var fault *entry.Fault
	if errors.As(err, &fault) {
		p.Line, p.Column, p.Text = fault.Line, fault.Column, "collectors: "+fault.Text
	}
	return []config.Problem{p}
}
