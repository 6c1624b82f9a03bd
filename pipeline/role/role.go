// Package role defines what a connection to a site's log is for, and reads that
// from a file of credentials. It grants nothing: package broker does.
package role

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Role is the purpose of a connection: it may do that and nothing else. Several
// roles are separated by commas ("engine,web"), collect:NAME last.
type Role string

// The roles. Each collecting process has one of its own: Collect.
const (
	All    Role = "all"    // everything of the site: what one process with every part needs
	Tick   Role = "tick"   // ticks, and to read the log
	Engine Role = "engine" // to read the log; incidents, snapshots, presence, answers
	Store  Role = "store"  // to read
	Notify Role = "notify" // to read incidents; deliveries, questions
	Web    Role = "web"    // to read; questions, notes
)

// CollectPrefix begins the role of a collecting process, before its name.
const CollectPrefix = "collect:"

// Collect is the role of one collecting process: to publish under its own name.
func Collect(name string) Role { return Role(CollectPrefix + name) }

// Name is the collecting process that a role is for, and whether it is for one.
func (r Role) Name() (string, bool) {
	if i := strings.Index(","+string(r), ","+CollectPrefix); i >= 0 {
		return string(r)[i+len(CollectPrefix):], true
	}
	return "", false
}

// CollectsOnly reports whether a role is that of a collecting process and nothing
// else: its users belong to the collectors' account.
func (r Role) CollectsOnly() bool { return strings.HasPrefix(string(r), CollectPrefix) }

// Allows reports whether a process of this role may do what another, which is
// not Collect, may.
func (r Role) Allows(other Role) bool {
	others, _, _ := strings.Cut(string(r), CollectPrefix)
	return slices.ContainsFunc(strings.Split(others, ","), func(one string) bool { return Role(one) == All || Role(one) == other })
}

// HeadMark begins every file of credentials that quintet enroll writes.
const HeadMark = "# Quintet: "

// token finds the first token of a file of credentials: header, claims, signature.
var token = regexp.MustCompile(`-----BEGIN NATS USER JWT-----\s+[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.`)

// Enrolled returns the role that a file of credentials was written for, or "" for
// a file that quintet enroll did not write. The server of the log, not this
// function, verifies the signature.
func Enrolled(credentials []byte) (Role, error) {
	if !bytes.HasPrefix(credentials, []byte(HeadMark)) {
		return "", nil
	}
	found := token.FindSubmatch(credentials)
	if found == nil {
		return "", errors.New("credentials: no token of a user")
	}
	text, err := base64.RawURLEncoding.DecodeString(string(found[1]))
	if err != nil {
		return "", fmt.Errorf("credentials: claims: %w", err)
	}
	var claims struct{ Name Role }
	if err := json.Unmarshal(text, &claims); err != nil {
		return "", fmt.Errorf("credentials: claims: %w", err)
	}
	return claims.Name, nil
}
