//go:build !service

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/config"
)

const (
	// demoApart is the time from the end of a fault to the next: everything has
	// recovered, and the heat is gone.
	demoApart = 80 * time.Second
	// demoFaults is for how many the schedule is made: days.
	demoFaults = 1000
)

// demoOrder is one fault of each domain, in turn: power, computing, network, cooling,
// software. The first is one that a device reports as soon as it is read: a job is
// judged only when it has been watched for 45 s.
func demoOrder() []string {
	return []string{"feed-loss", "gpu-slow", "link-errors", "coolant-flow-loss", "host-jitter"}
}

// live runs a simulated site behind real protocols and the service that reads
// it, in one process on loopback.
func (c *demoCommand) live(sh *cli.Shell, scratch string) error {
	schedule, err := c.schedule()
	if err != nil {
		return err
	}
	if err := free(c.Listen); err != nil {
		return err
	}
	w, err := newWiredSite(c.GPUs, c.Seed, c.Scheduler, filepath.Join(scratch, "lab"))
	if err != nil {
		return err
	}
	file, err := c.siteConfig(sh, w, scratch)
	if err != nil {
		return err
	}
	c.settle(file, scratch)
	s, err := newService(sh, file, c.LogLevel)
	if err != nil {
		return err
	}
	if s.Collectors, err = collect.Collectors(file); err != nil {
		return err
	}
	s.Demo = fmt.Sprintf("This is a demo: a simulated site of %d GPUs, read over gNMI, Redfish, sysfs and HTTP. Faults come and go.", c.GPUs)
	report := newDemoReport(sh, w)
	s.Faults = &injector{site: w.site, lasts: c.Lasts, report: report.strike}
	ctx, stop := context.WithCancel(sh.Ctx)
	defer stop()
	parts := startCompanions(ctx, stop)
	onListen := s.Listening
	s.Listening = func(a net.Addr) {
		onListen(a)
		fmt.Fprintf(sh.Out, "quintet: the first fault is struck in %s, the next after %s, others every %s\n", schedule[0].at, schedule[1].at, schedule[2].at-schedule[1].at)
		url := address(file, a)
		parts.start(func(ctx context.Context) error { return w.run(ctx, url) })
		parts.start(func(ctx context.Context) error {
			w.strike(ctx, schedule, func(d due, f fault.Fault, err error) { report.strike(struckFault{d, time.Now(), f, err}) })
			return nil
		})
		parts.start(func(ctx context.Context) error { return report.run(ctx, url) })
	}
	err = pipeline.Run(ctx, s)
	stop()
	return errors.Join(err, parts.wait())
}

// demoFirst is how long the first fault of the usual order lasts at most: it degrades
// no job, so the next one should not be long in coming.
const demoFirst = time.Minute

// schedule is the demo's faults.
func (c *demoCommand) schedule() ([]due, error) {
	order := demoOrder()
	if c.Fault != "" {
		order = []string{c.Fault}
	}
	var out []due
	at := c.After
	for i := range demoFaults {
		d, err := parseFault(order[i%len(order)])
		if err != nil {
			return nil, fmt.Errorf("--fault: %w", err)
		}
		d.at, d.lasts = at, c.Lasts
		if i == 0 && c.Fault == "" {
			d.lasts = min(c.Lasts, demoFirst)
		}
		at += d.lasts + demoApart
		out = append(out, d)
	}
	return out, nil
}

// siteConfig is the configuration that reads the site, with the other settings of
// the user's file.
func (c *demoCommand) siteConfig(sh *cli.Shell, w *wiredSite, scratch string) (*config.File, error) {
	text, err := w.configText("", "")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(scratch, "lab.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	lab, err := collect.ReadConfig(sh, path)
	if err != nil || c.Config == "" {
		return lab, err
	}
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return nil, err
	}
	file.Collectors, file.Topology = lab.Collectors, lab.Topology
	return file, nil
}

// incidentsOf asks for incidents; query is what narrows them.
func incidentsOf(ctx context.Context, url, query string) ([]opened, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	var body struct {
		Incidents []opened `json:"incidents"`
	}
	err := asking{Server: url}.get(ctx, "/api/v1/incidents"+query, &body)
	return body.Incidents, err
}
