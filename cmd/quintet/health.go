package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate/explain"
)

// healthCommand prints the state of a node. Exit code 0: nothing to drain it for;
// 1: it is the cause of an open incident; 3: not known.
type healthCommand struct {
	asking `embed:""`

	Node          string  `arg:"" help:"The node, as its entity is named (node:NAME)."`
	MinConfidence float64 `default:"0.8" placeholder:"N" help:"The least confidence, 0 to 1, with which the node must be the cause."`
	Risk          bool    `help:"Exit with 1 if it is the cause of an open risk, too."`
	JSON          bool    `name:"json" help:"Print the answer of the API."`
}

// Validate returns an error if the flags are invalid.
func (c *healthCommand) Validate() error {
	if !(c.MinConfidence >= 0 && c.MinConfidence <= 1) {
		return fmt.Errorf("--min-confidence: %v: want 0 to 1", c.MinConfidence)
	}
	return nil
}

// Run prints a line and exits with what it means for the node.
func (c *healthCommand) Run(sh *cli.Shell) error {
	var raw json.RawMessage
	path := fmt.Sprintf("/api/v1/nodes/%s/health?min_confidence=%g", url.PathEscape(strings.TrimPrefix(c.Node, "node:")), c.MinConfidence)
	var s client.NodeHealth
	err := c.get(sh.Ctx, path, &raw)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		sh.Warn("health of node %s: not known: %v", c.Node, err)
		return cli.Exit(cli.Doubted)
	}
	if c.JSON {
		fmt.Fprintf(sh.Out, "%s\n", raw)
	} else {
		fmt.Fprintln(sh.Out, nodeState(&s))
	}
	switch {
	case s.Role == "cause" && (s.State == "degraded" || c.Risk && s.State == "at_risk"):
		return cli.Exit(cli.Wrong)
	case s.State == "no_data":
		return cli.Exit(cli.Doubted)
	}
	return nil
}

// nodeState is the state on one line, as a scheduler keeps it as a reason.
func nodeState(s *client.NodeHealth) string {
	parts := []string{s.Node + ": " + strings.ReplaceAll(s.State, "_", " ")}
	if s.Reason != "" {
		parts[0] += ": " + s.Reason
	}
	if s.Confidence != nil {
		parts = append(parts, "confidence "+explain.Percent(*s.Confidence))
	}
	if s.Since != nil {
		parts = append(parts, "since "+s.Since.UTC().Format(time.RFC3339))
	}
	if s.Incident != "" {
		parts = append(parts, s.Incident)
	}
	return strings.Join(parts, ", ")
}
