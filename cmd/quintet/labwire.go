//go:build !service

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/lab/sim/fault"
)

// wire serves the site's device protocols on loopback until it is stopped.
func (c *labCommand) wire(sh *cli.Shell) error {
	schedule, err := c.schedule()
	if err != nil {
		return err
	}
	dir, done, err := c.folder()
	if err != nil {
		return err
	}
	defer done()
	w, err := newWiredSite(c.gpus(), c.Seed, c.Scheduler, dir)
	if err != nil {
		return err
	}
	for _, a := range w.addresses() {
		fmt.Fprintln(sh.Out, a)
	}
	if c.WriteConfig != "" {
		text, err := w.configText(c.Listen, "")
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.WriteConfig, []byte(text), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(sh.Out, "lab: read it with: quintet serve --config %s\n", c.WriteConfig)
	}
	ctx, stop := context.WithCancel(sh.Ctx)
	defer stop()
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	truth := drill{wired: w, url: "http://" + c.Listen + "/"}
	if c.Drill && len(schedule) == 0 {
		d, err := w.surprise(c.After, c.Lasts)
		if err != nil {
			return err
		}
		schedule = append(schedule, d)
	}
	background.Go(func() {
		w.strike(ctx, schedule, func(d due, f fault.Fault, err error) {
			s := struckFault{d, time.Now(), f, err}
			truth.note(s)
			if !c.Drill {
				fmt.Fprintln(sh.Out, struckLine(s.at, d, f, err))
			}
		})
	})
	if c.Drill {
		fmt.Fprintln(sh.Out, "lab: a drill: press Enter to see the injected faults and whether they were found; that ends it")
		go truth.ask(ctx, sh, stop)
	}
	return w.run(ctx, "http://"+c.Listen)
}

// schedule is which faults come when.
func (c *labCommand) schedule() ([]due, error) {
	var out []due
	if c.Schedule != "" {
		b, err := os.ReadFile(c.Schedule)
		if err != nil {
			return nil, err
		}
		if out, err = parseSchedule(c.Schedule, string(b)); err != nil {
			return nil, err
		}
	}
	if c.Fault == cases.Healthy {
		return out, nil
	}
	d, err := parseFault(c.Fault)
	if err != nil {
		return nil, fmt.Errorf("--fault: %w", err)
	}
	d.at, d.lasts = c.After, c.Lasts
	return append(out, d), nil
}

// folder is where the site keeps its files, and what tidies up behind it.
func (c *labCommand) folder() (string, func(), error) {
	if c.Dir == "" {
		return temporary()
	}
	dir, err := filepath.Abs(c.Dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	return dir, func() {}, err
}

// struckLine describes an injected fault, or why it could not be injected.
func struckLine(at time.Time, d due, f fault.Fault, err error) string {
	when := at.Format(time.TimeOnly)
	if err != nil {
		return fmt.Sprintf("lab: %s: %s was not struck: %v", when, d.name, err)
	}
	return fmt.Sprintf("lab: %s: %s at %s for %s", when, f.Name, f.Entity, d.lasts)
}
