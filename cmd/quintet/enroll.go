package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// enrollCommand writes the credentials of a process elsewhere.
type enrollCommand struct {
	Name   string   `arg:"" help:"The process: its host's name, usually. It stands in the subjects that it alone may publish to."`
	Output string   `short:"o" required:"" placeholder:"FILE" help:"Where the credentials go. They are a secret."`
	Config string   `placeholder:"FILE" help:"The configuration of the site."`
	Data   string   `placeholder:"DIR" help:"Where the site's log is, in place of the configuration's data."`
	Role   []string `default:"collect" enum:"collect,tick,engine,store,notify,web,all" placeholder:"ROLE" help:"What the process may do: collect, unless said otherwise; tick, engine, store, notify, web, all."`
}

// Run writes the file. The server need not know.
func (c *enrollCommand) Run(sh *shell) error {
	file, err := readConfig(sh, c.Config)
	if err != nil {
		return err
	}
	override(&file.Data, c.Data)
	b, err := c.enroll(file)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.Output); err == nil {
		return fmt.Errorf("enroll: %s is there already", c.Output)
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("enroll: %w", err)
	}
	return os.WriteFile(c.Output, b, 0o600)
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
	return broker.EnrollAs(file.Data, file.Site.Site, broker.Role(strings.Join(roles, ",")))
}
