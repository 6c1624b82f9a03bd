package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/replay/importers/standard"
)

const description = `Watches an AI data centre and reports which job got slower, by how much, where it began and why.

Exit codes: 0 sound, done; 1 wrong, failed or different; 2 a wrong flag or argument; 3 sound, but with warnings (check), or not known (health).`

// commands is the command line.
type commands struct {
	workbench

	Serve    serveCommand          `cmd:"" help:"The service."`
	Init     initCommand           `cmd:"" help:"Look for what can be read on this host and network, write a configuration that reads it, and try it."`
	Collect  collect.Command       `cmd:"" help:"Only the collectors of a host or a rack; --once --print shows what they would send."`
	Coverage coverageCommand       `cmd:"" help:"Show what a running site reports and lacks, and which faults it therefore cannot distinguish."`
	Doctor   doctorCommand         `cmd:"" help:"Print the state of a running site, sources without data and why, and what else is wrong."`
	Health   healthCommand         `cmd:"" help:"Print the state of a node, for schedulers; the exit code is whether to drain it."`
	Capture  captureCommand        `cmd:"" help:"Write a part of a running site's log into a trace."`
	MCP      mcpCommand            `cmd:"" name:"mcp" help:"Pass a service's tools on to an AI assistant, over standard input and output."`
	Enroll   enrollCommand         `cmd:"" help:"Write the credentials of a process on another machine."`
	Revoke   revokeCommand         `cmd:"" help:"Revoke the credentials of a process, or list those that were written."`
	Repair   repairCommand         `cmd:"" help:"Show entries of a stopped site's streams of incidents and alerts that no process of it wrote, and remove them."`
	Replay   replayCommand         `cmd:"" help:"Run the engine over a recording and print the incidents."`
	Import   importCommand         `cmd:"" help:"Turn other data into a trace."`
	Check    checkCommand          `cmd:"" help:"Report what is wrong with a file, and where."`
	Config   collect.ConfigCommand `cmd:"" help:"Work on configuration files."`
	Test     testCommand           `cmd:"" help:"Run the scenarios of signatures."`
	New      newCommand            `cmd:"" help:"Write what an extension begins with."`
	Whatif   whatifCommand         `cmd:"" help:"Show from a trainer's operation timeline which ranks make its steps long."`
	Version  cli.VersionCommand    `cmd:"" help:"Print the version."`

	Engine engineCommand `cmd:"" hidden:"" help:"The engine of a service, in a process of its own: serve starts it."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`

	Completion cli.CompletionCommand `cmd:"" help:"Print what bash, zsh or fish needs to complete commands."`
	Man        cli.ManCommand        `cmd:"" hidden:"" help:"Print the manual page."`
}

func main() {
	if err := prelude(); err != nil {
		fmt.Fprintln(os.Stderr, "quintet:", err)
		os.Exit(cli.Wrong)
	}
	cli.Main(app())
}

// app is the program.
func app() cli.App {
	return cli.App{Name: "quintet", Description: description, Commands: &commands{Import: importers(standard.Kinds())}, Version: correlate.Version}
}

// program names this program in the files it writes.
func program() string { return "quintet " + correlate.Version }

// labVersion is the environment variable in which quintet gives quintet-lab its
// version.
const labVersion = "QUINTET_LAB_FOR"
