//go:build !service

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

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/lab/recorded"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// play plays a recording through the live service.
func (c *demoCommand) play(sh *cli.Shell, scratch string) error {
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return err
	}
	c.settle(file, scratch)
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
	return pipeline.Run(sh.Ctx, s)
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
	sh   *cli.Shell
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
	err = play.Run(ctx, play.Config{Recording: rec, Into: log, Collector: "recording", Site: p.file.Site.Name, From: p.c.Past, Speed: p.c.Speed,
		State: state, Last: last, Begun: p.begun, Now: func() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }})
	if err != nil {
		return err
	}
	if ctx.Err() == nil {
		fmt.Fprintln(p.sh.Out, "quintet: the recording has ended; the page stays until you stop it")
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

// note describes what is played, for the page.
func (c *demoCommand) note(path string) string {
	pace := "as fast as it happened"
	if c.Speed != 1 {
		pace = fmt.Sprintf("%g times as fast as it happened", c.Speed)
	}
	return fmt.Sprintf("This is a demo: the recording %s is played, %s.", filepath.Base(path), pace)
}
