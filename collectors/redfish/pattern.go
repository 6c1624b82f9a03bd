package redfish

import (
	"strings"

	"github.com/quintet-dc/quintet/collectors/mapping"
)

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

// pattern selects paths part by part. Letters of either case match: some firmware
// changes them from page to page.
type pattern struct{ mapping.Path }

// leads reports whether path, or something below it, can match.
func (p *pattern) leads(path []string) bool {
	if len(path) > len(p.Path) {
		return false
	}
	for i, s := range path {
		if _, ok := p.Path[i].Name.Match(s, nil, true); !ok {
			return false
		}
	}
	return true
}

// match returns the values of the pattern's variables in path.
func (p *pattern) match(path []string) (vars []mapping.Binding, ok bool) {
	if len(path) != len(p.Path) {
		return nil, false
	}
	for i, s := range path {
		if vars, ok = p.Path[i].Name.Match(s, vars, true); !ok {
			return nil, false
		}
	}
	return vars, true
}
