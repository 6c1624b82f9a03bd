package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/dashboards/web"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/rules"
)

// serveCommand is the service.
type serveCommand struct {
	Config   string   `placeholder:"FILE" help:"The configuration; without one, everything has the default that is right for one machine."`
	Role     []string `placeholder:"ROLE" help:"Parts this process takes: collect, tick, engine, store, notify, web. All, if none is named."`
	Listen   string   `placeholder:"ADDRESS" help:"Where the page and the API are, in place of the configuration's listen."`
	Data     string   `placeholder:"DIR" help:"Where the log is, in place of the configuration's data."`
	LogLevel string   `default:"info" enum:"debug,info,warn,error" help:"What is logged: debug, info, warn, error."`

	EngineProcess bool `default:"true" negatable:"" help:"Run the engine in a process of its own, in addition to the other parts: page and notifications go on if it is killed."`

	engine func() *exec.Cmd // makes the engine's process; nil where this one runs it, or none does
}

// Run serves until it is stopped. A reload with a valid configuration stops all
// parts and starts them again from the current files: all state that they need is
// in the log.
func (c *serveCommand) Run(sh *cli.Shell) error {
	next, err := c.service(sh)
	if err != nil {
		return err
	}
	if c.EngineProcess && next.Roles[pipeline.Engine] && len(next.Roles) > 1 {
		if c.engine, err = c.engineProcess(); err != nil {
			// A root without /proc: better all parts in one process than none.
			sh.Warn("the engine runs in this process: %v", err)
		}
		next.EngineCommand = c.engine
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	m := cli.NewManager(os.Getenv)
	defer context.AfterFunc(sh.Ctx, func() { m.Notify(sh, "STOPPING=1") })()
	var watching sync.WaitGroup
	watched, stop := context.WithCancel(sh.Ctx)
	watching.Go(func() { m.Watch(watched, sh) })
	defer func() { stop(); watching.Wait() }()
	for next != nil {
		c.notifyReady(sh, m, next)
		if next, err = c.serve(sh, *next, hangup); err != nil {
			return err
		}
	}
	return nil
}

// notifyReady notifies the service manager when the service is ready: when its page
// listens, or at once where it has none.
func (c *serveCommand) notifyReady(sh *cli.Shell, m *cli.Manager, s *pipeline.Config) {
	if !s.Roles[pipeline.Web] {
		m.Notify(sh, "READY=1")
		return
	}
	announce := s.Listening
	s.Listening = func(a net.Addr) {
		announce(a)
		m.Listens(sh, a, s.File.Web.TLS.Cert != "")
	}
}

// serve runs a service until it is stopped, and then returns nil, or until it is to
// be restarted, and then returns the next configuration: on a reload, and when
// there is disk space again after the log was given up for lack of it.
func (c *serveCommand) serve(sh *cli.Shell, s pipeline.Config, hangup <-chan os.Signal) (next *pipeline.Config, err error) {
	ctx, stop := context.WithCancel(sh.Ctx)
	defer stop()
	reloads := make(chan *pipeline.Config, 1)
	s.Reload = func(context.Context) error {
		again, err := c.service(sh)
		if err != nil {
			return err
		}
		select {
		case reloads <- again:
			stop()
		default: // one is under way
		}
		return nil
	}
	var waiting sync.WaitGroup
	renewals := make(chan struct{}, 1)
	waiting.Go(func() {
		if collect.Renewed(ctx, s.File, collect.LookAtCredentials) {
			renewals <- struct{}{}
		}
	})
	waiting.Go(func() {
		for {
			select {
			case <-hangup:
			case <-renewals:
			case <-ctx.Done():
				return
			}
			if err := s.Reload(ctx); err != nil {
				sh.Warn("reload: the configuration stays as it was: %v", err)
			}
		}
	})
	err = pipeline.Run(ctx, s)
	stop()
	waiting.Wait()
	if errors.Is(err, pipeline.ErrStore) && sh.Ctx.Err() == nil {
		sh.Warn("starting again: %v", err)
		return c.service(sh)
	}
	select {
	case next = <-reloads:
	default:
	}
	return next, err
}

// service is what the configuration comes to now.
func (c *serveCommand) service(sh *cli.Shell) (*pipeline.Config, error) {
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return nil, err
	}
	roles, err := pipeline.ParseRoles(c.Role)
	if err != nil {
		return nil, err
	}
	collect.Override(&file.Listen, c.Listen)
	collect.Override(&file.Data, c.Data)
	s, err := newService(sh, file, c.LogLevel)
	if err != nil {
		return nil, err
	}
	s.Roles, s.EngineCommand = roles, c.engine
	if roles[pipeline.Collect] {
		if s.Collectors, err = collect.Collectors(file); err != nil {
			return nil, err
		}
	}
	return &s, collect.EnrolledFor(file, roles.Names())
}

// Validate returns an error if the flags are invalid.
func (c *serveCommand) Validate() error {
	_, err := pipeline.ParseRoles(c.Role)
	return err
}

// newService is what every live command runs, but for what it collects.
func newService(sh *cli.Shell, file *config.File, level string) (pipeline.Config, error) {
	roots, err := signatureRoots(file.Signatures)
	if err != nil {
		return pipeline.Config{}, err
	}
	set, err := signatures(roots)
	if err != nil {
		return pipeline.Config{}, err
	}
	for _, w := range set.Warnings {
		sh.Warn("%v", w)
	}
	logger, err := collect.Logger(sh, level)
	if err != nil {
		return pipeline.Config{}, err
	}
	process, err := collect.ProcessName(file)
	if err != nil {
		return pipeline.Config{}, err
	}
	return pipeline.Config{File: file, Roles: pipeline.AllRoles(), Process: process, Version: correlate.Version, Page: page(), Runbooks: roots,
		Engine:    engineOf(set, 1),
		Rerun:     rerun(set),
		Listening: func(a net.Addr) { fmt.Fprintf(sh.Out, "quintet: the page is at %s\n", address(file, a)) },
		Logger:    logger,
	}, nil
}

// address is where the page is, as a browser wants it.
func address(file *config.File, a net.Addr) string {
	scheme := "http"
	if file.Web.TLS.Cert != "" {
		scheme = "https"
	}
	where := a.String()
	if host, port, err := net.SplitHostPort(where); err == nil && net.ParseIP(host).IsUnspecified() {
		if name, err := os.Hostname(); err == nil { // every address of this machine
			where = net.JoinHostPort(name, port)
		}
	}
	return scheme + "://" + where + "/"
}

// page returns the page's files; QUINTET_PAGE, where it is set, is a folder from
// which they are read at each request, for who works on them.
func page() fs.FS {
	if dir := os.Getenv("QUINTET_PAGE"); dir != "" {
		return os.DirFS(dir)
	}
	return web.Files()
}

// signatureRoots are the folders of our own signatures and of those of the site.
func signatureRoots(folders []string) ([]fs.FS, error) {
	roots := []fs.FS{rules.Files()}
	for _, f := range folders {
		root, err := rules.Dir(f)
		if err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// signatures returns those of some folders.
func signatures(roots []fs.FS) (rules.Set, error) {
	return rules.Load(roots...)
}

// temporary makes a folder that is gone when done is called.
func temporary() (dir string, done func(), err error) {
	dir, err = os.MkdirTemp("", "quintet-")
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
