package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit codes; --help lists them.
const (
	exitSound   = 0
	exitWrong   = 1
	exitUsage   = 2
	exitDoubted = 3
)

const description = `Watches an AI data centre and reports which job got slower, by how much, where it began and why.

Exit codes: 0 sound, done; 1 wrong, failed or different; 2 a wrong flag or argument; 3 sound, but with warnings (check), or not known (health).`

// commands is the command line.
type commands struct {
	Demo     demoCommand     `cmd:"" help:"Everything in one process, with a simulated site."`
	Serve    serveCommand    `cmd:"" help:"The service."`
	Collect  collectCommand  `cmd:"" help:"Only the collectors of a host or a rack; --once --print shows what they would send."`
	Coverage coverageCommand `cmd:"" help:"Show what a running site reports and lacks, and which faults it therefore cannot distinguish."`
	Doctor   doctorCommand   `cmd:"" help:"Print the state of a running site, sources without data and why, and what else is wrong."`
	Health   healthCommand   `cmd:"" help:"Print the state of a node, for schedulers; the exit code is whether to drain it."`
	Capture  captureCommand  `cmd:"" help:"Write a part of a running site's log into a trace."`
	MCP      mcpCommand      `cmd:"" name:"mcp" help:"Pass a service's tools on to an AI assistant, over standard input and output."`
	Enroll   enrollCommand   `cmd:"" help:"Write the credentials of a process on another machine."`
	Revoke   revokeCommand   `cmd:"" help:"Revoke the credentials of a process, or list those that were written."`
	Repair   repairCommand   `cmd:"" help:"Show entries of a stopped site's streams of incidents and alerts that no process of it wrote, and remove them."`
	Replay   replayCommand   `cmd:"" help:"Run the engine over a recording and print the incidents."`
	Lab      labCommand      `cmd:"" help:"A run of the simulated site, with or without a fault, into a trace."`
	Import   importCommand   `cmd:"" help:"Turn other data into a trace."`
	Export   exportCommand   `cmd:"" help:"Write a recording as Parquet, for other programs."`
	Score    scoreCommand    `cmd:"" help:"Replay labelled bundles and print how often the answer was right."`
	Learn    learnCommand    `cmd:"" help:"Move the priors of signatures towards what incidents with a verdict were."`
	Check    checkCommand    `cmd:"" help:"Report what is wrong with a file, and where."`
	Test     testCommand     `cmd:"" help:"Run the scenarios of signatures."`
	Whatif   whatifCommand   `cmd:"" help:"Show from a trainer's operation timeline which ranks make its steps long."`
	Version  versionCommand  `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`

	Completion completionCommand `cmd:"" help:"Print what bash, zsh or fish needs to complete commands."`
	Man        manCommand        `cmd:"" hidden:"" help:"Print the manual page."`
}

// shell is what a command may use of the world: results go to out, progress and
// warnings to err.
type shell struct {
	ctx      context.Context
	out, err io.Writer
}

// warn prints one line that is no result.
func (s *shell) warn(format string, args ...any) {
	fmt.Fprintf(s.err, "quintet: "+format+"\n", args...)
}

// doubts prints what is doubtful about what was read, a line each.
func (s *shell) doubts(warnings []string) {
	for _, w := range warnings {
		s.warn("%s", w)
	}
}

// exit ends the program with a code, without another word.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func main() {
	limitMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(&shell{ctx, os.Stdout, os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run parses the arguments, runs the command and returns the exit code.
func run(sh *shell, args []string) int {
	code := -1 // set by --help, which kong answers itself
	parser, err := kong.New(&commands{}, kong.Name("quintet"), kong.Description(description), kong.Writers(sh.out, sh.err),
		kong.Exit(func(c int) { code = c }), kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(withDefault), kong.Vars{"version": program()})
	if err != nil {
		sh.warn("%v", err)
		return exitWrong
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if code >= 0 {
		return code
	}
	if err != nil {
		sh.warn("%v%s (see quintet --help)", err, suggestion(parser.Model.Node, err))
		return exitUsage
	}
	err = parsed.Run(sh, parser)
	var quiet exit
	switch {
	case err == nil:
		return exitSound
	case errors.As(err, &quiet):
		return int(quiet)
	}
	sh.warn("%v", occupied(err))
	return exitWrong
}
