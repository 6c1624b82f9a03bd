package access

import (
	"fmt"
	"slices"
)

// Role is what a user may do. The zero Role is that of a server without users: it
// may do everything.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // read
	Operator Role = "operator" // read; acknowledge, judge, assign, silence, retry
	Admin    Role = "admin"    // everything
	Push     Role = "push"     // push telemetry and events, and nothing else
)

// Right is a kind of request.
type Right uint8

// The rights. The zero Right is for admins only.
const (
	Administer Right = iota // the configuration
	Read                    // any answer that changes nothing
	Operate                 // what changes what people are notified of
	Send                    // telemetry, events, steps of jobs
)

// May reports whether a role has a right.
func (r Role) May(x Right) bool {
	switch r {
	case "", Admin:
		return true
	case Operator:
		return x == Read || x == Operate
	case Viewer:
		return x == Read
	case Push:
		return x == Send
	}
	return false
}

// Needed returns the least role that has a right.
func Needed(x Right) Role {
	return [...]Role{Read: Viewer, Operate: Operator, Send: Push, Administer: Admin}[x]
}

// Set reads the name of a role.
func (r *Role) Set(text string) (err error) {
	*r, err = ParseRole(text)
	return err
}

// ParseRole reads the name of a role.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains([]Role{Viewer, Operator, Admin, Push}, r) {
		return r, nil
	}
	return "", fmt.Errorf("role %.40q: want viewer, operator, admin or push", s)
}
