package main

import (
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/pipeline/broker"
)

// revokeCommand revokes credentials that enroll wrote.
type revokeCommand struct {
	Name   string `arg:"" optional:"" help:"The process whose credentials are revoked. Without one, the credentials that were written are listed."`
	Config string `placeholder:"FILE" help:"The configuration of the site."`
	Data   string `placeholder:"DIR" help:"Where the site's log is, in place of the configuration's data."`
}

// Run revokes or lists. A running service refuses revoked credentials within seconds.
func (c *revokeCommand) Run(sh *cli.Shell) error {
	file, err := collect.ReadConfig(sh, c.Config)
	if err != nil {
		return err
	}
	collect.Override(&file.Data, c.Data)
	if c.Name == "" {
		all, err := broker.Enrolments(file.Data)
		if err != nil {
			return fmt.Errorf("revoke: %w", err)
		}
		for _, e := range all {
			fmt.Fprintf(sh.Out, "%-20s %-30s enrolled %s%s%s\n", e.Name, e.Role, e.Enrolled.Format(time.RFC3339), when(", expires ", e.Expires), when(", revoked ", e.Revoked))
		}
		return nil
	}
	revoked, err := broker.Revoke(file.Data, c.Name)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	fmt.Fprintf(sh.Out, "%s: %d credentials revoked\n", c.Name, len(revoked))
	return nil
}

// when is a time with a label before it; nothing where it is zero.
func when(word string, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return word + at.Format(time.RFC3339)
}
