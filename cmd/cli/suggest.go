package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/quintet-dc/quintet/settings"
)

// withDefault writes the help of a flag or argument with its default, unless the
// placeholder shows it already.
func withDefault(v *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(v)
	shown := v.Flag == nil || v.Flag.PlaceHolder == "" // kong prints the default in its place
	if !v.HasDefault || v.Default == "" || shown || v.IsBool() || strings.Contains(help, v.Default) {
		return help
	}
	return strings.TrimSuffix(help, ".") + " (default: " + v.Default + ")."
}

// mistyped finds the word that kong does not know in its error.
var mistyped = regexp.MustCompile(`^(?:unexpected argument|unknown flag) "?(-{0,2}[^\s",]+)"?`)

// suggestion returns ", did you mean …?" for a mistyped command or flag, empty
// where nothing is like it, or kong has suggested something itself.
func suggestion(root *kong.Node, err error) string {
	found := mistyped.FindStringSubmatch(err.Error())
	if found == nil || strings.Contains(err.Error(), "did you mean") {
		return ""
	}
	node := root
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		node = parse.Context.Selected()
	}
	var known []string
	if strings.HasPrefix(found[1], "-") {
		known = flags(node)
	} else {
		for _, c := range node.Children {
			known = append(known, c.Name)
		}
	}
	return Nearest(found[1], known)
}

// Nearest returns ", did you mean …?" with the known word that is like one.
func Nearest(word string, known []string) string {
	if like := settings.Nearest(word, known); like != "" {
		return fmt.Sprintf(", did you mean %q?", like)
	}
	return ""
}

// occupied adds what to do to the error of an address that is in use.
func occupied(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w: another process uses this address (perhaps another quintet): stop it, or choose another address with --listen or listen: in the configuration", err)
}
