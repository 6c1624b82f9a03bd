package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/role"
	"github.com/quintet-dc/quintet/settings"
)

// enrolledFolder is below Dir/keys; it has one file for each credential that was
// written, named by the public key of its first user.
const enrolledFolder = "enrolled"

// ErrNotEnrolled: no credential of that name is known.
var ErrNotEnrolled = errors.New("not enrolled here, or enrolled by a version that kept no list")

// Enrolment is a credential that was written. Its secret is not kept.
type Enrolment struct {
	Name     string    `json:"name"`
	Role     Role      `json:"role"`
	Keys     []string  `json:"keys"` // public keys of its users
	Enrolled time.Time `json:"enrolled"`
	Expires  time.Time `json:"expires,omitzero"` // refused from then on; zero is never
	Revoked  time.Time `json:"revoked,omitzero"` // zero is not
}

// Enrolling is the process for which a credential is written.
type Enrolling struct {
	Dir  string // where the site's data is
	Site string
	Name string // of the process
	Role Role
	Life time.Duration // 0 is for ever
}

// EnrollAs returns the file that a remote process of a role needs to reach the site
// whose data is below dir: one readable file with its token, its key and the
// certificate of the site's authority. Nothing changes on a server, running or not.
// The site must have been started once.
func EnrollAs(dir, site string, role Role) ([]byte, error) {
	name, ok := role.Name()
	if !ok {
		name = string(role)
	}
	return Enrolling{Dir: dir, Site: site, Name: name, Role: role}.Sign()
}

// Sign writes the credential and keeps a record of it, by which it can be revoked.
func (c Enrolling) Sign() ([]byte, error) {
	file, err := c.sign(time.Now().UTC().Truncate(time.Second))
	if err != nil {
		return nil, fmt.Errorf("broker: enroll %s: %w", c.Role, err)
	}
	return file, nil
}

func (c Enrolling) sign(now time.Time) ([]byte, error) {
	names, err := bus.NamesOf(c.Site)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(c.Dir, keysFolder)
	account, err := readKey(filepath.Join(folder, accountFile))
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	authority, err := os.ReadFile(filepath.Join(folder, authorityFile))
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if c.Role.CollectsOnly() {
		if account, err = collectorsKey(account); err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
	}
	t, until := terms{remote: true}, ""
	if c.Life > 0 {
		t.expires = now.Add(c.Life)
		until = ", expires " + t.expires.Format(time.RFC3339)
	}
	file, err := users(account, c.Role, names, t)
	if err != nil {
		return nil, err
	}
	public, err := publicKeys(file)
	if err != nil {
		return nil, err
	}
	if err := keepEnrolment(folder, Enrolment{Name: c.Name, Role: c.Role, Keys: public, Enrolled: now, Expires: t.expires}); err != nil {
		return nil, err
	}
	head := fmt.Sprintf(role.HeadMark+"%s of site %q, enrolled %s%s.\n# This file is sufficient to act in that role. Keep it to its owner (mode 0600).\n\n",
		c.Role, c.Site, now.Format(time.RFC3339), until)
	return fmt.Appendf(nil, "%s%s\n%s", head, file, authority), nil
}

var tokenBlock = regexp.MustCompile(`-----BEGIN NATS USER JWT-----\s+([A-Za-z0-9_\-.=]+)\s`)

// publicKeys returns the public key of each user in a file of credentials.
func publicKeys(file []byte) (out []string, err error) {
	for _, m := range tokenBlock.FindAllSubmatch(file, -1) {
		claims, err := jwt.DecodeUserClaims(string(m[1]))
		if err != nil {
			return nil, err
		}
		out = append(out, claims.Subject)
	}
	if len(out) == 0 {
		return nil, errors.New("credentials: no user in them")
	}
	return out, nil
}

func keepEnrolment(folder string, e Enrolment) error {
	dir := filepath.Join(folder, enrolledFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return settings.WriteFile(filepath.Join(dir, e.Keys[0]+".json"), append(b, '\n'))
}

// Enrolments lists the credentials that were written for the site whose data is below
// dir, the oldest first.
func Enrolments(dir string) ([]Enrolment, error) {
	out, err := enrolments(filepath.Join(dir, keysFolder))
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	return out, nil
}

func enrolments(folder string) (out []Enrolment, err error) {
	dir := filepath.Join(folder, enrolledFolder)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range entries {
		if !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		var e Enrolment
		if err := json.Unmarshal(b, &e); err != nil || len(e.Keys) == 0 {
			return nil, fmt.Errorf("%s: not a record of an enrolment: %w", filepath.Join(dir, f.Name()), err)
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Enrolment) int { return a.Enrolled.Compare(b.Enrolled) })
	return out, nil
}

// Revoke revokes every credential of a name, and returns those that were not before. A
// running server refuses them within seconds, and ends their connections.
func Revoke(dir, name string) (out []Enrolment, err error) {
	folder := filepath.Join(dir, keysFolder)
	all, err := enrolments(folder)
	if err != nil {
		return nil, fmt.Errorf("broker: revoke %s: %w", name, err)
	}
	known := false
	for _, e := range all {
		if e.Name != name {
			continue
		}
		known = true
		if !e.Revoked.IsZero() {
			continue
		}
		e.Revoked = time.Now().UTC().Truncate(time.Second)
		if err := keepEnrolment(folder, e); err != nil {
			return out, fmt.Errorf("broker: revoke %s: %w", name, err)
		}
		out = append(out, e)
	}
	if !known {
		return nil, fmt.Errorf("broker: revoke %s: %w", name, ErrNotEnrolled)
	}
	return out, nil
}

// withdrawn returns the users that are revoked, by public key.
func withdrawn(folder string) (map[string]time.Time, error) {
	all, err := enrolments(folder)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	out := map[string]time.Time{}
	for _, e := range all {
		if e.Revoked.IsZero() {
			continue
		}
		for _, k := range e.Keys {
			out[k] = e.Revoked
		}
	}
	return out, nil
}

// withdraw states in an account which of its users are revoked. Keys of the other
// account do no harm.
func (k keys) withdraw(a *jwt.AccountClaims) {
	for public, at := range k.withdrawn {
		a.RevokeAt(public, at)
	}
}

// Refresh applies the revocations since the start or the last call. It is not safe
// for concurrent use with itself.
func (s *Server) Refresh() error {
	now, err := withdrawn(filepath.Join(s.cfg.Dir, keysFolder))
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if len(now) == len(s.keys.withdrawn) { // nothing is ever taken back
		return nil
	}
	k := s.keys
	k.withdrawn = now
	t, err := k.trust(s.cfg.Site, s.names)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	for public, token := range t.accounts {
		if public == t.system {
			continue
		}
		account, err := s.nats.LookupAccount(public)
		if err != nil {
			return fmt.Errorf("broker: %w", err)
		}
		claims, err := jwt.DecodeAccountClaims(token)
		if err != nil {
			return fmt.Errorf("broker: %w", err)
		}
		if err := s.nats.AccountResolver().Store(public, token); err != nil {
			return fmt.Errorf("broker: %w", err)
		}
		s.nats.UpdateAccountClaims(account, claims)
	}
	s.keys.withdrawn = now
	return nil
}
