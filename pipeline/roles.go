package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Role is a part of the service that a process can take.
type Role string

// The roles.
const (
	Collect Role = "collect" // reads devices and states what they report
	Tick    Role = "tick"    // moves the log's time
	Engine  Role = "engine"  // judges
	Store   Role = "store"   // stores the log, where the server is our own
	Notify  Role = "notify"  // notifies receivers
	Web     Role = "web"     // the API and the page
)

// Roles are the parts a process takes.
type Roles map[Role]bool

// AllRoles is every part: what one machine needs.
func AllRoles() Roles {
	return Roles{Collect: true, Tick: true, Engine: true, Store: true, Notify: true, Web: true}
}

// ParseRoles reads a list of roles; none means all.
func ParseRoles(names []string) (Roles, error) {
	if len(names) == 0 {
		return AllRoles(), nil
	}
	out := Roles{}
	for _, n := range names {
		if !AllRoles()[Role(n)] {
			return nil, fmt.Errorf("role %q: want %s", n, strings.Join(keys(AllRoles()), ", "))
		}
		out[Role(n)] = true
	}
	return out, nil
}

// String lists the roles by name.
func (r Roles) String() string { return strings.Join(r.Names(), ",") }

// Names returns the roles by name, sorted.
func (r Roles) Names() []string { return keys(r) }

func keys[K ~string, V any](m map[K]V) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, string(k))
	}
	return out
}
