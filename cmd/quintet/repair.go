package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// repairCommand shows and removes entries of the streams of incidents and alerts that
// no process of the site wrote.
type repairCommand struct {
	Config string `placeholder:"FILE" help:"The configuration of the site."`
	Data   string `placeholder:"DIR" help:"Where the site's log is, in place of the configuration's data. The service must be stopped: one process holds a log."`
	Remove bool   `help:"Remove what is shown."`
}

// shownContent bounds how much of an entry is printed, in bytes.
const shownContent = 120

// Run prints one line for each entry and exits with 1 where one is left.
func (c *repairCommand) Run(sh *cli.Shell) error {
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return err
	}
	collect.Override(&file.Data, c.Data)
	b, done, err := pipeline.OpenLog(sh.Ctx, file, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	defer done()
	left := 0
	for _, stream := range []struct {
		name string
		of   *bus.Revisions
	}{{"incidents", b.Incidents()}, {"alerts", b.Alerts()}} {
		n, err := c.repair(sh, stream.name, stream.of)
		if err != nil {
			return fmt.Errorf("repair: %w", err)
		}
		left += n
	}
	if left > 0 {
		sh.Warn("%d entries were not written by a process of the site that may; nothing reads them. quintet repair --remove removes them", left)
		return cli.Exit(cli.Wrong)
	}
	return nil
}

// repair shows the foreign entries of one stream, removes them if that is asked for,
// and returns how many are left.
func (c *repairCommand) repair(sh *cli.Shell, name string, of *bus.Revisions) (left int, err error) {
	list, err := of.Foreign(sh.Ctx)
	if err != nil {
		return 0, err
	}
	verb := "foreign"
	sequences := make([]uint64, 0, len(list))
	for _, f := range list {
		sequences = append(sequences, f.Sequence)
	}
	if c.Remove && len(list) > 0 {
		if err := of.Remove(sh.Ctx, sequences); err != nil {
			return 0, err
		}
		verb = "removed"
	} else {
		left = len(list)
	}
	for _, f := range list {
		fmt.Fprintf(sh.Out, "%s %s sequence %d, %s, %s, %d bytes: %s: %q\n", verb, name, f.Sequence,
			time.Unix(0, int64(f.Stored)).UTC().Format(time.RFC3339), f.Subject, len(f.Data), f.Reason, f.Data[:min(len(f.Data), shownContent)])
	}
	return left, nil
}
