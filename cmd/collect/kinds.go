package collect

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/collectors/fabric"
	"github.com/quintet-dc/quintet/collectors/gnmi"
	"github.com/quintet-dc/quintet/collectors/jobs"
	"github.com/quintet-dc/quintet/collectors/logs"
	"github.com/quintet-dc/quintet/collectors/nvml"
	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/collectors/redfish"
	"github.com/quintet-dc/quintet/collectors/scrape"
	"github.com/quintet-dc/quintet/collectors/sysfs"
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
		spec, err := collectorSpec(c.Kind, name, c.Node, guard)
		if err == nil && c.Kind == "receive" && count[c.Kind] > 1 {
			err = errors.New("a process receives in one way: there are two entries")
		}
		if err != nil {
			problems = append(problems, problemsOf(file.Path, c, err)...)
			continue
		}
		specs = append(specs, spec)
	}
	return specs, problems
}

// collectorSpec is the one place that knows every kind of collector.
func collectorSpec(kind, name string, n *yaml.Node, g dial.Guard) (collectors.Spec, error) {
	switch kind {
	case "sysfs":
		return specOf(name, n, sysfs.DecodeConfig, sysfs.New)
	case "nvml":
		return specOf(name, n, nvml.DecodeConfig, nvml.New)
	case "fabric":
		return specOf(name, n, fabric.DecodeConfig, fabric.New)
	case "gnmi":
		return specOf(name, n, gnmi.DecodeConfig, func(c gnmi.Config) (*gnmi.Collector, error) { return gnmi.New(c, g) })
	case "jobs":
		return specOf(name, n, jobs.DecodeConfig, func(c jobs.Config) (*jobs.Collector, error) { return jobs.New(c, g) })
	case "logs":
		return specOf(name, n, logs.DecodeConfig, func(c logs.Config) (*logs.Collector, error) { return logs.New(c, g) })
	case "receive":
		return specOf(name, n, receive.DecodeConfig, func(c receive.Config) (*receive.Receiver, error) { return receive.New(c), c.Within(g) })
	case "redfish":
		return specOf(name, n, redfish.DecodeConfig, func(c redfish.Config) (*redfish.Collector, error) { return redfish.New(c, g) })
	case "scrape":
		return specOf(name, n, scrape.DecodeConfig, func(c scrape.Config) (*scrape.Collector, error) { return scrape.New(c, g) })
	}
	return collectors.Spec{}, fmt.Errorf("unknown kind of collector: want fabric, gnmi, jobs, logs, nvml, receive, redfish, scrape or sysfs")
}

// targeted is a collector that names what it reads.
type targeted interface {
	collectors.Collector
	Target() string
}

// specOf decodes an entry by its owner and makes the collector that it means.
func specOf[C any, T targeted](name string, n *yaml.Node, decode func(*yaml.Node) (C, error), make func(C) (T, error)) (collectors.Spec, error) {
	c, err := decode(n)
	if err != nil {
		return collectors.Spec{}, err
	}
	made, err := make(c)
	if err != nil {
		return collectors.Spec{}, err
	}
	return collectors.Spec{Name: name, Target: made.Target(), Collector: made}, nil
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
