//go:build !service

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/notify/standard"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// demoCommand runs the whole live service on a simulated site, or on a recording
// in its place.
type demoCommand struct {
	GPUs      int           `name:"gpus" default:"16" placeholder:"N" help:"How large the simulated site is."`
	Seed      uint64        `default:"3" placeholder:"N" help:"Equal seeds make equal sites."`
	Fault     string        `placeholder:"NAME[@ENTITY]" help:"The fault to strike, again and again; one of each domain in turn if not given. help lists all faults."`
	Scheduler string        `default:"slurm" enum:"slurm,kubernetes" help:"Who runs the training jobs, slurm or kubernetes."`
	After     time.Duration `default:"4s" help:"When the first fault is struck, after the page is up."`
	Lasts     time.Duration `default:"3m" help:"How long a fault lasts."`
	Recorded  bool          `help:"Play our own recording of a small RoCE fabric in the place of the site."`
	Trace     string        `placeholder:"FILE" help:"Play this recording in the place of the site: a trace, or the folder of a bundle."`
	Speed     float64       `default:"1" help:"How many times real time a recording is played."`
	Past      time.Duration `default:"147s" help:"How much of the recording has already happened when the demo begins."`
	Listen    string        `default:"127.0.0.1:8420" placeholder:"ADDRESS" help:"Where the page and the API are."`
	Data      string        `placeholder:"DIR" help:"Keep the log here, and go on with it when started again. Without it, nothing is kept."`
	Webhook   string        `placeholder:"URL" help:"Deliver to this receiver too, signed with the secret in --secret."`
	Secret    string        `placeholder:"FILE" help:"The webhook's secret (whsec_…)."`
	Config    string        `placeholder:"FILE" help:"A configuration, for whatever else is to be set."`
	LogLevel  string        `default:"warn" enum:"debug,info,warn,error" help:"What is logged: debug, info, warn, error."`
}

// Validate returns an error if the flags are invalid.
func (c *demoCommand) Validate() error {
	if !(c.Speed > 0) || c.Speed > 1e6 {
		return fmt.Errorf("--speed: %v: want a positive number", c.Speed)
	}
	if c.Past < 0 {
		return errors.New("--past: want no negative length")
	}
	if c.After < 0 {
		return errors.New("--after: want no negative length")
	}
	if c.Lasts < 10*time.Second {
		return errors.New("--lasts: want 10 s or longer")
	}
	if c.GPUs < 16 || c.GPUs > 1024 {
		return fmt.Errorf("--gpus: %d: want 16 to 1024", c.GPUs)
	}
	return nil
}

// Run runs until it is stopped; when a recording has ended the page stays up.
func (c *demoCommand) Run(sh *cli.Shell) error {
	if c.Fault == "help" {
		return listFaults(sh.Out)
	}
	scratch, done, err := temporary()
	if err != nil {
		return err
	}
	defer done()
	if c.Trace != "" || c.Recorded {
		return c.play(sh, scratch)
	}
	return c.live(sh, scratch)
}

// settle applies the flags to a configuration.
func (c *demoCommand) settle(file *config.File, scratch string) {
	file.Listen = c.Listen
	file.Data = filepath.Join(scratch, "data")
	collect.Override(&file.Data, c.Data)
	if c.Webhook != "" {
		file.Notify.Receivers = append(file.Notify.Receivers, config.Receiver{Name: "webhook", Kinds: standard.Kinds{Webhook: &webhook.Settings{URL: c.Webhook, SecretFile: c.Secret}}})
	}
}
