package serve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// hashing is how many passwords are compared at a time: a comparison takes a
// core for a twentieth of a second, on purpose.
const hashing = 2

// users knows who may log in.
type users struct {
	byName map[string]credential
	nobody credential // compared with where a name is unknown, so that it takes as long
	key    [32]byte   // of this process: what is remembered is of no use elsewhere
	slots  chan struct{}

	mu    sync.Mutex
	known map[string][32]byte // the password last accepted, as a keyed hash
}

// credential is a password as it is kept: a bcrypt hash, or a keyed hash of one
// that was in a file.
type credential struct {
	bcrypt []byte
	plain  [32]byte
}

// maxPassword bounds a password's file; bcrypt looks at 72 bytes anyway.
const maxPassword = 4 << 10

func newUsers(list []User) (*users, error) {
	u := &users{byName: map[string]credential{}, known: map[string][32]byte{}, slots: make(chan struct{}, hashing)}
	if _, err := rand.Read(u.key[:]); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	for i, x := range list {
		c, err := u.credential(x)
		if err != nil {
			return nil, fmt.Errorf("serve: web.users[%d]: %s: %w", i, x.Name, err)
		}
		u.byName[x.Name] = c
	}
	if len(list) == 0 {
		return u, nil
	}
	hash, err := bcrypt.GenerateFromPassword(u.key[:32], bcrypt.DefaultCost)
	u.nobody = credential{bcrypt: hash}
	return u, err
}

func (u *users) credential(x User) (credential, error) {
	text := x.PasswordHash
	if x.PasswordFile != "" {
		b, err := os.ReadFile(x.PasswordFile)
		if err != nil {
			return credential{}, fmt.Errorf("password_file: %w", err)
		}
		text = strings.TrimRight(string(b), "\r\n")
		if text == "" || len(text) > maxPassword || strings.ContainsAny(text, "\r\n") {
			return credential{}, fmt.Errorf("password_file: %s: want one line: a password or its bcrypt hash", x.PasswordFile)
		}
		if !strings.HasPrefix(text, "$2") {
			return credential{plain: u.keyed(text)}, nil
		}
	}
	if _, err := bcrypt.Cost([]byte(text)); err != nil {
		return credential{}, fmt.Errorf("password_hash: not a bcrypt hash: %w", err)
	}
	return credential{bcrypt: []byte(text)}, nil
}

// keyed is a hash of a password under this process's key.
func (u *users) keyed(password string) (sum [32]byte) {
	h := hmac.New(sha256.New, u.key[:])
	h.Write([]byte(password))
	h.Sum(sum[:0])
	return sum
}

// required reports whether anybody must log in.
func (u *users) required() bool { return len(u.byName) > 0 }

// admits reports whether the password is the user's. It waits for its turn, at
// most until ctx is done.
func (u *users) admits(ctx context.Context, name, password string) bool {
	c, known := u.byName[name]
	if !known {
		c = u.nobody
	}
	sum := u.keyed(password)
	if c.bcrypt == nil {
		return hmac.Equal(sum[:], c.plain[:])
	}
	u.mu.Lock()
	last, remembered := u.known[name]
	u.mu.Unlock()
	if remembered && hmac.Equal(sum[:], last[:]) {
		return true
	}
	select {
	case u.slots <- struct{}{}:
		defer func() { <-u.slots }()
	case <-ctx.Done():
		return false
	}
	if bcrypt.CompareHashAndPassword(c.bcrypt, []byte(password)) != nil || !known {
		return false
	}
	u.mu.Lock()
	u.known[name] = sum
	u.mu.Unlock()
	return true
}

// userKey is where a request carries who is logged in.
type userKey struct{}

// userOf returns who is logged in, "" where nobody has to.
func userOf(r *http.Request) string {
	name, _ := r.Context().Value(userKey{}).(string)
	return name
}
