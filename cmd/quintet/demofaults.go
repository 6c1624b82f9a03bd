//go:build !service

package main

import (
	"time"

	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/pipeline"
)

// injector injects the faults that people choose on the page of the demo.
type injector struct {
	site   *live.Site
	lasts  time.Duration
	report func(struckFault)
}

// Kinds lists what can be injected, by domain and name as they are declared.
func (d *injector) Kinds() []pipeline.FaultKind {
	var out []pipeline.FaultKind
	for _, k := range fault.Kinds() {
		if len(d.site.Places(k.Name)) > 0 {
			out = append(out, pipeline.FaultKind{Name: k.Name, Domain: k.Domain, Severity: k.Severity})
		}
	}
	return out
}

// Inject injects a fault now.
func (d *injector) Inject(wanted string) (pipeline.Injection, error) {
	due, err := parseFault(wanted)
	if err != nil {
		return pipeline.Injection{}, err
	}
	due.lasts = d.lasts
	now := time.Now()
	f, err := d.site.Strike(due.name, due.where, due.lasts)
	if err != nil {
		return pipeline.Injection{}, err
	}
	d.report(struckFault{due, now, f, nil})
	return pipeline.Injection{Fault: f.Name, Entity: f.Entity, At: now, Until: now.Add(due.lasts)}, nil
}
