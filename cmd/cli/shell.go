package cli

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
	Sound   = 0
	Wrong   = 1
	Usage   = 2
	Doubted = 3
)

// Shell is what a command may use of its surroundings: results go to Out, progress
// and warnings to Err.
type Shell struct {
	Ctx      context.Context
	Out, Err io.Writer
}

// Warn prints one line that is no result.
func (s *Shell) Warn(format string, args ...any) {
	fmt.Fprintf(s.Err, "quintet: "+format+"\n", args...)
}

// Doubts prints what is doubtful about what was read, a line each.
func (s *Shell) Doubts(warnings []string) {
	for _, w := range warnings {
		s.Warn("%s", w)
	}
}

// Exit ends the program with a code and prints nothing.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// App is a program: its name, what it does, and its commands.
type App struct {
	Name        string
	Description string
	Commands    any    // a struct, as kong reads it
	Version     string // printed where the linker stamped none
	Bare        bool   // without arguments it runs its default command, and does not print its help
}

// Main runs a program with the arguments of this process and ends the process.
func Main(a App) {
	limitMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := a.Run(&Shell{Ctx: ctx, Out: os.Stdout, Err: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// Run parses the arguments, runs the command and returns the exit code.
func (a App) Run(sh *Shell, args []string) int {
	code := -1 // set by --help, which kong answers itself
	parser, err := kong.New(a.Commands, kong.Name(a.Name), kong.Description(a.Description), kong.Writers(sh.Out, sh.Err),
		kong.Exit(func(c int) { code = c }), kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(withDefault), kong.Vars{"version": a.Name + " " + a.Release()}, kong.Bind(a))
	if err != nil {
		sh.Warn("%v", err)
		return Wrong
	}
	if len(args) == 0 && !a.Bare {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if code >= 0 {
		return code
	}
	if err != nil {
		sh.Warn("%v%s (see %s --help)", err, suggestion(parser.Model.Node, err), a.Name)
		return Usage
	}
	err = parsed.Run(sh, parser)
	var quiet Exit
	switch {
	case err == nil:
		return Sound
	case errors.As(err, &quiet):
		return int(quiet)
	}
	sh.Warn("%v", occupied(err))
	return Wrong
}
