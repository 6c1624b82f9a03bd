package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/quintet-dc/quintet/lab/recorded"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// demoCommand plays a recording through the whole live service.
type demoCommand struct {
	Trace    string        `placeholder:"FILE" help:"The recording: a trace, or the folder of a bundle. Without one, ours is played."`
	Speed    float64       `default:"1" help:"How many times real time."`
	Past     time.Duration `default:"130s" help:"How much of the recording has already happened when the demo begins."`
	Listen   string        `default:"127.0.0.1:8420" placeholder:"ADDRESS" help:"Where the page and the API are."`
	Data     string        `placeholder:"DIR" help:"Keep the log here, and go on with it when started again. Without it, nothing is kept."`
	Webhook  string        `placeholder:"URL" help:"Tell this receiver, too, signed with the secret in --secret."`
	Secret   string        `placeholder:"FILE" help:"The webhook's secret (whsec_…)."`
	Config   string        `placeholder:"FILE" help:"A configuration, for whatever else is to be set."`
	LogLevel string        `default:"warn" enum:"debug,info,warn,error" help:"What is logged: debug, info, warn, error."`
}

// Validate says what is wrong with the flags.
func (c *demoCommand) Validate() error {
	if !(c.Speed > 0) || c.Speed > 1e6 {
		return fmt.Errorf("--speed: %v: want a positive number", c.Speed)
	}
	if c.Past < 0 {
		return errors.New("--past: want no negative length")
	}
	return nil
}

// Run plays until it is told to stop; when the recording has ended the page
// stays.
func (c *demoCommand) Run(sh *shell) error {
	file, err := readConfig(sh, c.Config)
	if err != nil {
		return err
	}
	file.Listen = c.Listen
	scratch, done, err := temporary()
	if err != nil {
		return err
	}
	defer done()
	file.Data = filepath.Join(scratch, "data")
	override(&file.Data, c.Data)
	if c.Webhook != "" {
		file.Receivers = append(file.Receivers, config.Receiver{Name: "webhook", URL: c.Webhook, SecretFile: c.Secret})
	}
	s, err := newService(sh, file, c.LogLevel)
	if err != nil {
		return err
	}
	path, err := c.recording(scratch)
	if err != nil {
		return err
	}
	s.Demo = c.note(path)
	player := &player{c: c, sh: sh, path: path, file: file}
	s.Play = player.run
	delete(s.Roles, pipeline.Tick) // the player moves time
	return pipeline.Run(sh.ctx, s)
}

// recording returns the path of what is played; ours is written to dir first.
func (c *demoCommand) recording(dir string) (string, error) {
	if c.Trace != "" {
		return c.Trace, nil
	}
	path := filepath.Join(dir, recorded.Name+".qtrace")
	return path, os.WriteFile(path, recorded.Trace(), 0o600)
}

// player plays the recording into the log.
type player struct {
	c    *demoCommand
	sh   *shell
	path string
	file *config.File
}

// stateFile is where a kept demo remembers how it moved the recording in time.
func (p *player) stateFile() string { return filepath.Join(p.file.Data, "play.json") }

func (p *player) run(ctx context.Context, log *bus.Bus) error {
	rec, err := replay.Open(p.path, replay.OpenConfig{})
	if err != nil {
		return err
	}
	defer rec.Close()
	last, _, err := log.LastTick(ctx)
	if err != nil {
		return err
	}
	state, err := p.state()
	if err != nil {
		return err
	}
	err = play.Run(ctx, play.Config{Recording: rec, Into: log, Collector: "recording", Site: p.file.Site.Site, From: p.c.Past, Speed: p.c.Speed,
		State: state, Last: last, Begun: p.begun, Now: func() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }})
	if err != nil {
		return err
	}
	if ctx.Err() == nil {
		fmt.Fprintln(p.sh.out, "quintet: the recording has ended; the page stays until you stop it")
	}
	return nil
}

// state reads how an earlier run over the same data moved the recording.
func (p *player) state() (*play.State, error) {
	b, err := os.ReadFile(p.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &play.State{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s: %w", p.stateFile(), err)
	}
	return s, nil
}

func (p *player) begun(s play.State) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(p.stateFile(), b, 0o600)
}

// note says what is played, for the page.
func (c *demoCommand) note(path string) string {
	pace := "as fast as it happened"
	if c.Speed != 1 {
		pace = fmt.Sprintf("%g times as fast as it happened", c.Speed)
	}
	return fmt.Sprintf("This is a demo: the recording %s is played, %s.", filepath.Base(path), pace)
}
