package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// CompletionCommand prints what a shell needs to complete our commands. The
// scripts ask this program, so they fit whatever version is installed.
type CompletionCommand struct {
	Shell string   `arg:"" enum:"bash,zsh,fish,words" help:"bash, zsh or fish. Put source <(quintet completion bash) into ~/.bashrc."`
	Words []string `arg:"" optional:"" passthrough:"" hidden:"" help:"For the scripts: the words so far, the one to complete last."`
}

const (
	bashScript = `# quintet completion bash
_quintet() {
  local IFS=$'\n'
  COMPREPLY=($(quintet completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _quintet quintet
`
	zshScript = `#compdef quintet
_quintet() {
  local -a found
  found=("${(@f)$(quintet completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if (( ${#found} )) && [[ -n ${found[1]} ]]; then compadd -a found; else _files; fi
}
compdef _quintet quintet
`
	fishScript = `# quintet completion fish
complete -c quintet -a '(quintet completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`
)

// Run prints a script or, for one, the words that fit.
func (c *CompletionCommand) Run(sh *Shell, app *kong.Kong, a App) error {
	script, ok := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell]
	if ok {
		_, err := fmt.Fprint(sh.Out, strings.ReplaceAll(script, "quintet", a.Name))
		return err
	}
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, w := range startingWith(app.Model.Node, words) {
		if _, err := fmt.Fprintln(sh.Out, w); err != nil {
			return err
		}
	}
	return nil
}

// startingWith returns the words with which the last of some may be completed; none where
// that is for the shell to know, as with files.
func startingWith(node *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last, awaits := words[len(words)-1], (*kong.Flag)(nil)
	for _, w := range words[:len(words)-1] {
		switch {
		case awaits != nil:
			awaits = nil
		case strings.HasPrefix(w, "-"):
			if f := flagOf(node, w); f != nil && !f.IsBool() {
				awaits = f
			}
		default:
			if child := childOf(node, w); child != nil {
				node = child
			}
		}
	}
	var all []string
	switch {
	case awaits != nil:
		all = choices(awaits.Value)
	case strings.HasPrefix(last, "-"):
		all = flags(node)
	case len(node.Children) > 0:
		for _, c := range node.Children {
			if !c.Hidden {
				all = append(all, c.Name)
			}
		}
	case len(node.Positional) > 0:
		all = choices(node.Positional[0])
	}
	all = slices.DeleteFunc(all, func(w string) bool { return !strings.HasPrefix(w, last) })
	slices.Sort(all)
	return slices.Compact(all)
}

func childOf(node *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return node.Children[i]
}

// flagOf finds a flag that is written without its value.
func flagOf(node *kong.Node, word string) *kong.Flag {
	for n := node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// flags returns those that a command takes.
func flags(node *kong.Node) (out []string) {
	for n := node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if !f.Hidden {
				out = append(out, "--"+f.Name)
			}
		}
	}
	return out
}

// choices returns the values that a flag or an argument can have.
func choices(v *kong.Value) (out []string) {
	if v.Enum == "" {
		return nil
	}
	for w := range v.EnumMap() {
		if w != "" && w != "words" { // that one is the scripts'
			out = append(out, w)
		}
	}
	return out
}
