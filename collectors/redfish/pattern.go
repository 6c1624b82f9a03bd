package redfish

import "strings"

// root is where every service begins.
const root = "/redfish/v1"

// split cuts a resource's path into its parts below the root. False where it is not
// of this service: another host, another root, a query.
func split(path string) ([]string, bool) {
	rest, ok := strings.CutPrefix(path, root)
	if !ok || rest != "" && rest[0] != '/' || strings.ContainsAny(path, "?#\\") {
		return nil, false
	}
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/")
	if rest == "" {
		return nil, true
	}
	parts := strings.Split(rest, "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return nil, false
		}
	}
	return parts, len(parts) <= maxDepth && len(path) <= maxPath
}

// What a resource's path may be.
const (
	maxDepth = 24
	maxPath  = 512
)

// pattern matches paths part by part: literal text, * for anything, and {name}
// for what is captured under a name, with literal text on either side of both.
// Letters of either case match: some firmware changes them from page to page.
type pattern struct{ parts []piece }

type piece struct {
	before, after string
	name          string // "" captures nothing
	any           bool   // false: before is all there is
	digits        bool
}

// compile reads a pattern. False where it is unsound.
func compile(text string) (pattern, bool) {
	var p pattern
	for _, part := range strings.Split(strings.Trim(text, "/"), "/") {
		c := piece{before: part}
		if i := strings.IndexAny(part, "*{"); i >= 0 {
			c.any, c.before = true, part[:i]
			rest := part[i+1:]
			if part[i] == '{' {
				name, after, ok := strings.Cut(rest, "}")
				if !ok || name == "" {
					return p, false
				}
				c.name, c.digits = strings.CutSuffix(name, ":digits")
				rest = after
			}
			c.after = rest
		}
		if part == "" || strings.ContainsAny(c.after, "*{}") || strings.ContainsAny(c.before, "}") {
			return p, false
		}
		p.parts = append(p.parts, c)
	}
	return p, true
}

func (c *piece) match(s string) (string, bool) {
	if !c.any {
		return "", strings.EqualFold(c.before, s)
	}
	n := len(s) - len(c.before) - len(c.after)
	if n <= 0 || !strings.EqualFold(s[:len(c.before)], c.before) || !strings.EqualFold(s[len(s)-len(c.after):], c.after) {
		return "", false
	}
	text := s[len(c.before) : len(c.before)+n]
	return text, !c.digits || strings.Trim(text, "0123456789") == ""
}

// leads reports whether path, or something below it, can match.
func (p *pattern) leads(path []string) bool {
	if len(path) > len(p.parts) {
		return false
	}
	for i, s := range path {
		if _, ok := p.parts[i].match(s); !ok {
			return false
		}
	}
	return true
}

// match returns the values of the pattern's names in path: names and texts
// alternate.
func (p *pattern) match(path []string) ([]string, bool) {
	if len(path) != len(p.parts) {
		return nil, false
	}
	var names []string
	for i, s := range path {
		text, ok := p.parts[i].match(s)
		if !ok {
			return nil, false
		}
		if p.parts[i].name != "" {
			names = append(names, p.parts[i].name, text)
		}
	}
	return names, true
}
