// Command quintet-collect reads the sources of a host or a rack and sends what it
// reads to a site's log: quintet collect in a program of its own, without the
// engine, the log's server and the history.
package main

import (
	"github.com/alecthomas/kong"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
)

// commands is the command line. Without a command it collects.
type commands struct {
	Collect collect.Command       `cmd:"" default:"withargs" help:"Read the sources and send what they report; --once --print shows what would be sent."`
	Config  collect.ConfigCommand `cmd:"" help:"Work on configuration files."`
	Version cli.VersionCommand    `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`

	Completion cli.CompletionCommand `cmd:"" help:"Print what bash, zsh or fish needs to complete commands."`
	Man        cli.ManCommand        `cmd:"" hidden:"" help:"Print the manual page."`
}

func main() { cli.Main(app()) }

// app is the program.
func app() cli.App {
	return cli.App{Name: "quintet-collect", Commands: &commands{}, Version: "(devel)", Bare: true,
		Description: "Reads the sources of a host or a rack and sends what they report to the log of a Quintet site."}
}
