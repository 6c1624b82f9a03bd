package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/child"
	"github.com/quintet-dc/quintet/pipeline/exposition"
)

// engineMemory is the share of the memory limit that the process of the engine has;
// the log, the history, the page and the notifier have the rest.
const engineMemory = 0.5

// oomScore is added to the engine's process where the kernel looks for what to kill
// for memory: a page that reports that the engine is gone is worth more than one that
// is gone with it.
const oomScore = "300"

// engineCommand is the engine of a service in a process of its own, which serve
// starts: it reads the same configuration and receives the rest (package child).
type engineCommand struct {
	Config   string
	Data     string
	LogLevel string
}

// Run runs the engine until the process that started it asks it to stop, or is
// gone. Signals are that process's to handle: a terminal and a service manager send
// them to both.
func (c *engineCommand) Run(sh *cli.Shell) error {
	signal.Ignore(syscall.SIGHUP)
	parent, err := child.Inherit(os.Stdin, os.Stdout)
	if err != nil {
		return err
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(oomScore), 0) // Linux has it
	_ = os.WriteFile("/proc/self/comm", []byte("quintet-engine"), 0)  // what ps shows; else "exe"
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return err
	}
	collect.Override(&file.Data, c.Data)
	s, err := newService(sh, file, c.LogLevel)
	if err != nil {
		return err
	}
	s.Roles, s.Parent, s.Metrics = pipeline.Roles{pipeline.Engine: true}, parent, metrics.NewSet()
	ctx, stop := context.WithCancel(context.WithoutCancel(sh.Ctx))
	defer stop()
	page := exposition.New(s.Metrics)
	go func() {
		err := parent.Serve(func(w *child.Text) error { return pipeline.WriteEngineMetrics(w, page) })
		if errors.Is(err, child.ErrGone) {
			os.Exit(cli.Wrong) // as if it had been killed with its parent: another one may be at work
		}
		if err != nil {
			sh.Warn("%v", err)
		}
		stop()
	}()
	return pipeline.Run(ctx, s)
}

// engineProcess returns what makes the command of the engine's process. It is this
// program, as it was when it was started: an upgrade of the file does not mix two
// versions.
func (c *serveCommand) engineProcess() (func() *exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe"
	}
	args := []string{os.Args[0], "engine", "--log-level", c.LogLevel}
	if c.Config != "" {
		args = append(args, "--config", c.Config)
	}
	if c.Data != "" {
		args = append(args, "--data", c.Data)
	}
	env := slices.DeleteFunc(os.Environ(), func(x string) bool {
		return strings.HasPrefix(x, "NOTIFY_SOCKET=") || strings.HasPrefix(x, "WATCHDOG_") // the manager knows this process only
	})
	if limit := cli.ShareMemory(engineMemory); limit != "" {
		env = append(env, limit)
	}
	return func() *exec.Cmd { return &exec.Cmd{Path: self, Args: args, Env: env} }, nil
}
