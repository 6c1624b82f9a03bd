package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay/whatif"
)

// whatifCommand analyses a trainer's operation timeline.
type whatifCommand struct {
	File string `arg:"" help:"Timeline: Chrome trace JSON, gzipped or not (docs/whatif.md)."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Run prints who made the steps long.
func (c *whatifCommand) Run(sh *cli.Shell) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	t, err := whatif.Read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	r, err := whatif.Analyse(t)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.JSON {
		e := json.NewEncoder(sh.Out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return r.WriteText(sh.Out)
}
