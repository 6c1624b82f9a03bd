package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
)

// doctorCommand prints the state of a running site, which sources have no data
// and why, and what else is wrong.
type doctorCommand struct {
	asking `embed:""`
}

// Run prints what is wrong and exits with 1 where anything is.
func (c *doctorCommand) Run(sh *cli.Shell) error {
	var status client.SiteStatus
	var received client.SourceList
	if err := c.get(sh.Ctx, "/api/v1/status", &status); err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	if err := c.get(sh.Ctx, "/api/v1/coverage", &received); err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	printSite(sh.Out, &status.Health)
	wrong := 0
	report := func(format string, args ...any) {
		wrong++
		fmt.Fprintf(sh.Out, format+"\n", args...)
	}
	switch late := status.Behind; {
	case status.Tick == nil:
		report("no tick received: no process of the site has the role tick, or the engine has not caught up")
	case late != nil && late.CatchingUp:
		report("%s", late.Text)
	case late != nil:
		report("the log does not advance: %s: does a process have the role tick, and is the bus connected?", late.Text)
	}
	for _, a := range status.Alarms {
		report("alarm since %s: %s: %s", a.Since.Format(time.RFC3339), a.Name, a.Text)
	}
	skewed := map[string]bool{} // a target's parts share its clock
	for _, s := range received.Sources {
		reportStale(s, status.Tick, report)
		if at := s.Collector + " " + s.Target; math.Abs(s.ClockOffsetSeconds) > clockTolerance && !skewed[at] {
			skewed[at] = true
			report("%s: its clock, or its way, is off by %.3g s: set its clock by NTP or PTP; no order is asserted within that", at, s.ClockOffsetSeconds)
		}
	}
	if len(received.Sources) == 0 {
		report("no source reports: name collectors in the configuration, or run quintet collect on the hosts; quintet collect --once --print shows what one would send")
	}
	open := 0
	for _, g := range received.Gaps {
		if g.To == nil {
			open++
		}
	}
	gaps := "no gaps"
	if n := len(received.Gaps); n > 0 {
		gaps = fmt.Sprintf("%s (%d open)", plural(n, "recent gap"), open)
	}
	fmt.Fprintf(sh.Out, "%s: %s, %s, %s\n", status.Site, plural(len(received.Sources), "source"), gaps, plural(wrong, "finding"))
	if wrong > 0 {
		return cli.Exit(cli.Wrong)
	}
	return nil
}

// printSite writes the state of the site and of each domain.
func printSite(w io.Writer, s *client.Site) {
	if s.State == "" {
		fmt.Fprintln(w, "site  not known")
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "site\t%s\t%s\n", strings.ReplaceAll(s.State, "_", " "), s.Reason)
	for _, d := range s.Domains {
		fmt.Fprintf(table, "%s\t%s\t%s\n", d.Domain, strings.ReplaceAll(d.State, "_", " "), d.Reason)
	}
	_ = table.Flush() // as with every line of the command
}

// clockTolerance is the largest offset of a source's clock that is accepted, in
// seconds: one second, and half a second for sources that report whole
// seconds only.
const clockTolerance = 1.5

// reportStale reports since when a source has had no data, and what to check.
func reportStale(s client.Source, tick *time.Time, report func(string, ...any)) {
	if s.Silent && s.Latest != nil && tick != nil {
		report("%s has no data for %s: %s", sourceName(s), tick.Sub(*s.Latest).Round(time.Second), whyStale(s.Collector))
	}
}

// whyStale is what to check first, by collector.
func whyStale(collector string) string {
	if k, ok := collect.KindOf(collector); ok {
		return k.Advice
	}
	return "is the collector running? (quintet_collectors_* in /metrics count its errors by reason)"
}
