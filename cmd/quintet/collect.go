package main

import (
	"context"
	"errors"
	"os"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/pipeline"
)

// collectCommand is the collectors alone: for a host or a rack.
type collectCommand struct {
	Config      string   `placeholder:"FILE" help:"The configuration; default: read this host."`
	Once        bool     `help:"Read every source once, then exit."`
	Print       bool     `help:"With --once: print what would be sent, as OpenMetrics."`
	NATS        []string `name:"nats" placeholder:"URL" help:"Where the log is, in place of the configuration's nats.urls."`
	Credentials string   `placeholder:"FILE" help:"What quintet enroll wrote for this process."`
	Data        string   `placeholder:"DIR" help:"Where to keep what the log cannot take, in place of the configuration's data."`
	LogLevel    string   `default:"info" enum:"debug,info,warn,error" help:"What is logged: debug, info, warn, error."`
}

// Validate says what is wrong with the flags.
func (c *collectCommand) Validate() error {
	if c.Print != c.Once {
		return errors.New("--once and --print: each needs the other")
	}
	return nil
}

// Run collects until it is told to stop, or once.
func (c *collectCommand) Run(sh *shell) error {
	file, err := readConfig(sh, c.Config)
	if err != nil {
		return err
	}
	specs, err := hostCollectors(file)
	if err != nil {
		return err
	}
	if c.Once {
		return c.once(sh, specs)
	}
	if len(c.NATS) > 0 {
		file.NATS.URLs, file.NATS.Embedded = c.NATS, false
	}
	override(&file.NATS.Credentials, c.Credentials)
	override(&file.Data, c.Data)
	if file.NATS.Embedded {
		return errors.New("collect: address of the log required: --nats URL and --credentials FILE, or nats.urls and nats.credentials in the configuration (or --once --print to see what would be sent)")
	}
	s, err := newService(sh, file, c.LogLevel)
	if err != nil {
		return err
	}
	s.Roles, s.Collectors = pipeline.Roles{pipeline.Collect: true}, specs
	if err := enrolledFor(file, s.Roles); err != nil {
		return err
	}
	m := newManager(os.Getenv)
	m.say(sh, "READY=1")
	defer context.AfterFunc(sh.ctx, func() { m.say(sh, "STOPPING=1") })()
	return pipeline.Run(sh.ctx, s)
}

// reader is a collector that can read what it reads once.
type reader interface {
	Once(ctx context.Context, sink collectors.Sink) error
}

// once reads every source once and prints what would be sent. A source that
// cannot be read is said on standard error; the others are printed.
func (c *collectCommand) once(sh *shell, specs []collectors.Spec) error {
	p := collectors.NewPrinter()
	var failed []error
	for _, s := range specs {
		r, ok := s.Collector.(reader)
		if !ok {
			sh.warn("%s: push-only collector: --once is not supported", s.Name)
			continue
		}
		if err := r.Once(sh.ctx, p); err != nil {
			failed = append(failed, err) // which names the collector
		}
	}
	if err := p.Print(sh.out); err != nil {
		return err
	}
	if err := p.PrintNotes(sh.err); err != nil {
		return err
	}
	return errors.Join(failed...)
}
