package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// initCommand writes the first configuration of a site.
type initCommand struct {
	Output       string        `short:"o" default:"quintet.yaml" placeholder:"FILE" help:"Where the configuration goes (default: quintet.yaml). A file that exists is never overwritten."`
	Host         []string      `placeholder:"HOST" help:"Also look at this host: its exporters on their usual ports, its Redfish service. HOST:PORT or a URL for other ports and paths."`
	Scan         []string      `placeholder:"PREFIX" help:"Also look at all addresses of this prefix, such as 10.0.0.0/24, at most 4096; neighbours: at those in this host's ARP table."`
	User         string        `placeholder:"NAME" help:"The account with which Redfish services are read."`
	PasswordFile string        `placeholder:"FILE" help:"The file with its password."`
	CA           string        `name:"ca" placeholder:"FILE" help:"Certificates that those of Redfish services must be signed by."`
	Root         string        `default:"/" placeholder:"DIR" help:"The root of the host's file system, for a container that has it mounted."`
	Prove        time.Duration `default:"30s" help:"How long at most the new configuration is run to see that its sources have data; 0 leaves that out."`
}

// Validate returns an error if the flags are invalid.
func (c *initCommand) Validate() error {
	if (c.User == "") != (c.PasswordFile == "") {
		return errors.New("--user and --password-file: each needs the other")
	}
	if c.Prove < 0 {
		return errors.New("--prove: want no negative length")
	}
	return nil
}

// Run looks for what can be read, writes a configuration that reads it, runs that
// configuration for a while and prints what doctor finds.
func (c *initCommand) Run(sh *cli.Shell) error {
	if _, err := os.Stat(c.Output); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("init: %s exists already: name another file with -o", c.Output)
	}
	all, asked, err := collect.Find(sh.Ctx, collect.Where{Root: c.Root, Hosts: c.Host, Scan: c.Scan, User: c.User, PasswordFile: c.PasswordFile, CA: c.CA})
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	text, ready, err := configOf(all, asked)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if err := writeNew(c.Output, text); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	list(sh.Out, all)
	file, err := collect.ReadConfig(sh, c.Output)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	specs, problems := collect.Specs(file)
	if len(problems) > 0 {
		return fmt.Errorf("init: %w", problems[0])
	}
	fmt.Fprintf(sh.Out, "%s: written, valid: %s\n", c.Output, plural(len(specs), "collector"))
	if ready == 0 {
		sh.Warn("nothing that can be read as it is: look at more with --host and --scan, or complete what %s has as comments", c.Output)
		return cli.Exit(cli.Doubted)
	}
	if c.Prove == 0 {
		return nil
	}
	err = c.prove(sh, file)
	if err == nil {
		fmt.Fprintf(sh.Out, "next: quintet serve --config %s\n", c.Output)
	}
	return err
}

// list prints what was found, and what it lacks.
func list(w io.Writer, all []collect.Finding) {
	for _, f := range all {
		for _, x := range f.Found {
			fmt.Fprintf(w, "found  %-8s %s\n", f.Kind.Name, x.What)
			if x.Lacks != "" {
				fmt.Fprintf(w, "       %-8s left as a comment; it lacks %s\n", "", x.Lacks)
			}
		}
	}
}

// configOf returns the text of a configuration that reads what was found, with what
// lacks something as comments, and how many entries are complete.
func configOf(all []collect.Finding, asked []netip.Prefix) (text string, ready int, err error) {
	var b, later strings.Builder
	b.WriteString("# Written by quintet init: what it found. docs/collectors.md describes every key.\n")
	if slices.ContainsFunc(asked, func(p netip.Prefix) bool { return !p.Addr().IsLoopback() }) {
		b.WriteString("\n# The addresses that may be connected to.\nmanagement:\n")
		for _, p := range asked {
			fmt.Fprintf(&b, "  - %s\n", p)
		}
	}
	var complete strings.Builder
	for _, f := range all {
		var own strings.Builder
		for _, x := range f.Found {
			entry, err := yaml.Marshal([]any{x.Entry})
			if err != nil {
				return "", 0, err
			}
			if x.Lacks == "" {
				fmt.Fprintf(&own, "    # %s\n%s", x.What, indented("    ", string(entry)))
				ready++
				continue
			}
			fmt.Fprintf(&later, "#   %s: # %s\n#     # lacks %s\n%s", f.Kind.Name, x.What, x.Lacks, indented("#     ", string(entry)))
		}
		if own.Len() > 0 {
			fmt.Fprintf(&complete, "  %s: # %s\n%s", f.Kind.Name, f.Kind.Doc, own.String())
		}
	}
	if complete.Len() > 0 {
		fmt.Fprintf(&b, "\ncollectors:\n%s", complete.String())
	}
	if later.Len() > 0 {
		fmt.Fprintf(&b, "\n# Found, but not complete. Below collectors:\n%s", later.String())
	}
	return b.String(), ready, nil
}

// indented puts a prefix before every line.
func indented(prefix, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(prefix + line)
	}
	return b.String()
}

// writeNew writes a file that must not exist.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// prove runs the configuration on loopback, with a log that is gone afterwards, until
// every collector has data, and prints what doctor finds.
func (c *initCommand) prove(sh *cli.Shell, file *config.File) error {
	scratch, done, err := temporary()
	if err != nil {
		return err
	}
	defer done()
	file.Listen, file.Data = "127.0.0.1:0", filepath.Join(scratch, "data")
	s, err := newService(sh, file, "error")
	if err != nil {
		return err
	}
	if s.Collectors, err = collect.Collectors(file); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(sh.Ctx)
	defer stop()
	listens := make(chan net.Addr, 1)
	s.Listening = func(a net.Addr) { listens <- a }
	parts := startCompanions(ctx, stop)
	parts.start(func(ctx context.Context) error { return pipeline.Run(ctx, s) })
	var found error
	select {
	case a := <-listens:
		fmt.Fprintf(sh.Out, "reading its sources for %s at most …\n", c.Prove)
		found = c.diagnose(&cli.Shell{Ctx: ctx, Out: sh.Out, Err: sh.Err}, address(file, a), wanted(&s))
	case <-ctx.Done():
	}
	stop()
	if err := parts.wait(); err != nil {
		return fmt.Errorf("init: the configuration does not run: %w", err)
	}
	return found
}

// wanted lists the collectors of a service.
func wanted(s *pipeline.Config) (out []string) {
	for _, x := range s.Collectors {
		kind, _, _ := strings.Cut(x.Name, "-") // scrape, scrape-2, …
		out = append(out, kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// diagnose waits until every collector has data, and prints what doctor finds.
func (c *initCommand) diagnose(sh *cli.Shell, url string, kinds []string) error {
	d := doctorCommand{asking{Server: url}}
	late := time.After(c.Prove)
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for lacking := kinds; len(lacking) > 0; {
		select {
		case <-again.C:
			var coverage client.SourceList
			if err := d.get(sh.Ctx, "/api/v1/coverage", &coverage); err != nil {
				return fmt.Errorf("init: %w", err)
			}
			lacking = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool {
				return slices.ContainsFunc(coverage.Sources, func(s client.Source) bool { return s.Collector == k && s.Latest != nil })
			})
		case <-late:
			for _, k := range lacking {
				fmt.Fprintf(sh.Out, "%s: no data in %s: %s\n", k, c.Prove, whyStale(k))
			}
			return errors.Join(d.Run(sh), cli.Exit(cli.Wrong))
		case <-sh.Ctx.Done():
			return sh.Ctx.Err()
		}
	}
	return d.Run(sh)
}
