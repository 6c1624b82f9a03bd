package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
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

// Nearest returns ", did you mean …?" with the known word that is the fewest edits
// from one, at most a third of its length and one.
func Nearest(word string, known []string) string {
	best := ""
	for _, k := range known {
		if d := distance(word, k); d <= 1+len(word)/3 && (best == "" || d < distance(word, best)) {
			best = k
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance returns the edits (insert, delete, replace, swap of neighbours) that
// turn a into b.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = slices.Min([]int{row[j-1] + 1, last[j] + 1, last[j-1] + cost})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}

// occupied adds what to do to the error of an address that is in use.
func occupied(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w: another process uses this address (perhaps another quintet): stop it, or choose another address with --listen or listen: in the configuration", err)
}
