package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// enrollCommand writes the credentials of a process elsewhere.
type enrollCommand struct {
	Name   string   `arg:"" help:"The process: its host's name, usually. It is part of the subjects that only this process may publish to."`
	Output string   `short:"o" required:"" placeholder:"FILE" help:"Where the credentials go. They are a secret."`
	Config string   `placeholder:"FILE" help:"The configuration of the site."`
	Data   string   `placeholder:"DIR" help:"Where the site's log is, in place of the configuration's data."`
	Role   []string `default:"collect" enum:"collect,tick,engine,store,notify,web,all" placeholder:"ROLE" help:"What the process may do: collect (default), tick, engine, store, notify, web, all."`

	Expires time.Duration `placeholder:"DURATION" help:"After how long the credentials are refused, such as 2160h. Default: never."`

	Nodes    []string       `placeholder:"HOST" help:"Hosts that a collecting process may report on, with everything in them. HOST* matches a prefix. Default: the host NAME."`
	Entities []string       `placeholder:"KIND:NAME" help:"Other entities of which it may state: switch:leaf1, port:leaf1/*."`
	Jobs     []string       `placeholder:"JOB" help:"With --may jobs: which jobs. Default: all."`
	Events   []string       `placeholder:"EVENT" help:"Which events it may report. Default: all."`
	Budget   map[string]int `placeholder:"WHAT=N" help:"How much it may state, where the default does not fit: series, edges, records_per_second, bytes_per_second, events_per_second."`
	May      []string       `placeholder:"RIGHT" help:"What else it may state: jobs (steps, failures, placement), maintenance, all."`
}

// Run writes the file. The server need not know.
func (c *enrollCommand) Run(sh *cli.Shell) error {
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return err
	}
	collect.Override(&file.Data, c.Data)
	b, err := c.enroll(file)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.Output); err == nil {
		return fmt.Errorf("enroll: %s is there already", c.Output)
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("enroll: %w", err)
	}
	if err := c.grant(sh, file); err != nil {
		return fmt.Errorf("enroll: %w", err)
	}
	return os.WriteFile(c.Output, b, 0o600)
}

// grantWithin is how long the process that holds the log may take to state a grant.
const grantWithin = 30 * time.Second

// grant writes what a process that only collects may state next to the site's keys,
// where the process that holds the log finds it. Processes of other roles may state
// anything, unless they are enrolled with limits.
func (c *enrollCommand) grant(sh *cli.Shell, file *config.File) (err error) {
	limited := len(c.Nodes)+len(c.Entities)+len(c.Jobs)+len(c.Events)+len(c.May)+len(c.Budget) > 0
	collects := slices.Contains(c.Role, string(pipeline.Collect))
	if !collects || len(c.Role) > 1 && !limited {
		if limited {
			return errors.New("--nodes, --entities, --jobs, --events, --may and --budget limit a process that collects: want --role collect")
		}
		return nil
	}
	g := grants.Grant{Process: c.Name, Nodes: c.Nodes, Entities: c.Entities, Jobs: c.Jobs, Events: c.Events}
	if len(g.Nodes)+len(g.Entities) == 0 {
		g.Nodes = []string{c.Name}
	}
	for _, r := range c.May {
		g.May = append(g.May, grants.Right(r))
	}
	if len(g.Jobs) > 0 && !slices.Contains(g.May, grants.Jobs) {
		g.May = append(g.May, grants.Jobs)
	}
	if g.Budget, err = grants.ParseBudget(c.Budget); err != nil {
		return err
	}
	if err := pipeline.WriteGrant(file.Data, g); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(sh.Ctx, grantWithin)
	defer stop()
	if err := pipeline.AwaitGrants(ctx, file.Data); err != nil {
		return err
	}
	sh.Warn("%s may state: %s", c.Name, g.String())
	return nil
}

func (c *enrollCommand) enroll(file *config.File) ([]byte, error) {
	var roles []string
	for _, one := range c.Role {
		if one != string(pipeline.Collect) {
			roles = append(roles, one)
		}
	}
	if len(roles) < len(c.Role) {
		roles = append(roles, string(broker.Collect(c.Name))) // last: a name may hold commas
	}
	return broker.Enrolling{Dir: file.Data, Site: file.Site.Name, Name: c.Name, Role: broker.Role(strings.Join(roles, ",")), Life: c.Expires}.Sign()
}
