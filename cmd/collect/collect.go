package collect

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/pipeline/agent"
)

// collecting is the role of a process that collects.
const collecting = "collect"

// Command runs the collectors alone: for a host or a rack.
type Command struct {
	Config      string   `placeholder:"FILE" help:"The configuration; default: read this host."`
	Once        bool     `help:"Read every source once, then exit."`
	Print       bool     `help:"With --once: print what would be sent, as OpenMetrics."`
	NATS        []string `name:"nats" placeholder:"URL" help:"Where the log is, in place of the configuration's nats.urls."`
	Credentials string   `placeholder:"FILE" help:"What quintet enroll wrote for this process."`
	Data        string   `placeholder:"DIR" help:"Where to keep what the log cannot take, in place of the configuration's data."`
	LogLevel    string   `default:"info" enum:"debug,info,warn,error" help:"What is logged: debug, info, warn, error."`
}

// Validate returns an error if the flags are invalid.
func (c *Command) Validate() error {
	if c.Print != c.Once {
		return errors.New("--once and --print: each needs the other")
	}
	return nil
}

// Run collects until it is stopped, or once.
func (c *Command) Run(sh *cli.Shell) error {
	file, err := ReadConfig(sh, c.Config)
	if err != nil {
		return err
	}
	specs, err := Collectors(file)
	if err != nil {
		return err
	}
	if c.Once {
		return c.once(sh, specs)
	}
	if len(c.NATS) > 0 {
		file.NATS.URLs, file.NATS.Embedded = c.NATS, false
	}
	Override(&file.NATS.CredentialsFile, c.Credentials)
	Override(&file.Data, c.Data)
	if err := EnrolledFor(file, []string{collecting}); err != nil {
		return err
	}
	logger, err := Logger(sh, c.LogLevel)
	if err != nil {
		return err
	}
	process, err := ProcessName(file)
	if err != nil {
		return err
	}
	s := agent.Config{File: file, Process: process, Collectors: specs, Logger: logger}
	m := cli.NewManager(os.Getenv)
	m.Notify(sh, "READY=1")
	defer context.AfterFunc(sh.Ctx, func() { m.Notify(sh, "STOPPING=1") })()
	for {
		if again, err := c.collect(sh, s); !again {
			return err
		}
		sh.Warn("the credentials have changed: connecting with the new ones")
		if s.Collectors, err = Collectors(file); err != nil {
			return err
		}
	}
}

// collect runs the collectors until sh ends; again reports that they must be
// restarted, because the credentials were renewed.
func (c *Command) collect(sh *cli.Shell, s agent.Config) (again bool, err error) {
	ctx, stop := context.WithCancel(sh.Ctx)
	defer stop()
	var watching sync.WaitGroup
	watching.Go(func() {
		if again = Renewed(ctx, s.File, LookAtCredentials); again {
			stop()
		}
	})
	err = agent.Run(ctx, s)
	stop()
	watching.Wait()
	return again && err == nil && sh.Ctx.Err() == nil, err
}

// reader is a collector that can read what it reads once.
type reader interface {
	Once(ctx context.Context, sink collectors.Sink) error
}

// once reads every source once and prints what would be sent. A source that cannot
// be read is reported on standard error; the others are printed.
func (c *Command) once(sh *cli.Shell, specs []collectors.Spec) error {
	p := collectors.NewPrinter()
	var failed []error
	for _, s := range specs {
		r, ok := s.Collector.(reader)
		if !ok {
			sh.Warn("%s: push-only collector: --once is not supported", s.Name)
			continue
		}
		if err := r.Once(sh.Ctx, p); err != nil {
			failed = append(failed, err) // which names the collector
		}
	}
	if err := p.Print(sh.Out); err != nil {
		return err
	}
	if err := p.PrintNotes(sh.Err); err != nil {
		return err
	}
	return errors.Join(failed...)
}
