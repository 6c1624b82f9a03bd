package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// ManCommand prints the manual page.
type ManCommand struct{}

// Run prints the page in the form of man(7): every command with its arguments and
// flags, as --help has them.
func (c *ManCommand) Run(sh *Shell, app *kong.Kong, a App) error {
	out := &roff{w: sh.Out}
	name := roffText(a.Name)
	out.line(`.TH %s 1 "" "%s %s" "Quintet"`, strings.ToUpper(name), name, a.Release())
	out.line(".SH NAME\n%s \\- root cause analysis for AI data centres", name)
	out.line(".SH SYNOPSIS\n.B %s\n[COMMAND] [FLAGS] [ARGUMENTS]", name)
	out.line(".SH DESCRIPTION\n%s", roffText(app.Model.Help))
	out.line(".SH COMMANDS")
	out.commands(app.Model.Node)
	out.line(".SH SEE ALSO\nThe documents in https://github.com/quintet\\-dc/quintet/tree/main/docs")
	return out.err
}

// roff writes lines until one cannot be written.
type roff struct {
	w   io.Writer
	err error
}

func (r *roff) line(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.w, format+"\n", args...)
	}
}

// commands writes the commands below a node, each with its flags.
func (r *roff) commands(n *kong.Node) {
	for _, c := range n.Children {
		if c.Hidden {
			continue
		}
		if len(c.Children) > 0 && c.Type == kong.CommandNode && len(c.Flags) == 0 {
			r.commands(c)
			continue
		}
		_, path, _ := strings.Cut(c.FullPath(), " ") // without the program's name
		r.line(".SS %s\n%s", roffText(path), roffText(c.Help))
		for _, p := range c.Positional {
			r.line(".TP\n.I %s\n%s", roffText(p.Summary()), roffText(p.Help))
		}
		for _, f := range c.Flags {
			if !f.Hidden && f.Name != "help" {
				r.line(".TP\n.B %s\n%s", roffText(f.String()), roffText(f.Help))
			}
		}
		r.commands(c)
	}
}

// roffText escapes what man(7) would take for its own.
func roffText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
