package main

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/collectors/sysfs"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// hostCollectors are the collectors that a configuration names; where it names
// none, the one that reads this host.
func hostCollectors(file *config.File) ([]collectors.Spec, error) {
	if len(file.Collectors) == 0 {
		file.Collectors = []config.Collector{{Kind: "sysfs"}}
	}
	specs, problems := collectorSpecs(file)
	var wrong []error
	for _, p := range problems {
		wrong = append(wrong, p)
	}
	return specs, errors.Join(wrong...)
}

// collectorSpecs makes the collectors that a configuration names, each decoded
// by its owner.
func collectorSpecs(file *config.File) (specs []collectors.Spec, problems []config.Problem) {
	count := map[string]int{}
	for _, c := range file.Collectors {
		count[c.Kind]++
		name := c.Kind
		if n := count[c.Kind]; n > 1 {
			name = fmt.Sprintf("%s-%d", c.Kind, n)
		}
		spec, err := collectorSpec(c.Kind, name, c.Node)
		if err != nil {
			problems = append(problems, problemsOf(file.Path, c, err)...)
			continue
		}
		specs = append(specs, spec)
	}
	return specs, problems
}

// collectorSpec is the one place that knows every kind of collector.
func collectorSpec(kind, name string, n *yaml.Node) (collectors.Spec, error) {
	switch kind {
	case "sysfs":
		c, err := sysfs.DecodeConfig(n)
		if err != nil {
			return collectors.Spec{}, err
		}
		reader, err := sysfs.New(c)
		if err != nil {
			return collectors.Spec{}, err
		}
		return collectors.Spec{Name: name, Target: reader.Target(), Collector: reader}, nil
	}
	return collectors.Spec{}, fmt.Errorf("unknown kind of collector: want sysfs")
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
