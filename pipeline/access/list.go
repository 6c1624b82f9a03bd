package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// credential is one user with its secret as it is kept: a bcrypt hash, or a keyed
// hash of the contents of a file.
type credential struct {
	name    string
	role    Role
	expires time.Time
	bcrypt  []byte
	plain   [32]byte
}

// list is the contents of the files at one time.
type list struct {
	byName  map[string]credential
	byToken map[[32]byte]credential
	stamps  map[string]stamp // of each file
}

// stamp changes when a file does.
type stamp struct {
	at   time.Time
	size int64
	ok   bool
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size(), true}
}

// load reads every file of c. Users whose file cannot be read are left out, and the
// error names them.
func (c Config) load(key []byte) (*list, error) {
	l := &list{byName: map[string]credential{}, byToken: map[[32]byte]credential{}, stamps: map[string]stamp{}}
	var wrong []error
	for i, u := range c.Users {
		for _, path := range []string{u.PasswordFile, u.TokenFile} {
			if path != "" {
				l.stamps[path] = stampOf(path)
			}
		}
		if err := l.add(u, key); err != nil {
			wrong = append(wrong, fmt.Errorf("web.users[%d]: %s: %w", i, u.Name, err))
		}
	}
	if c.File != "" {
		l.stamps[c.File] = stampOf(c.File)
		if err := l.addFile(c); err != nil {
			wrong = append(wrong, fmt.Errorf("web.users_file: %w", err))
		}
	}
	return l, errors.Join(wrong...)
}

func (l *list) addFile(c Config) error {
	hashes, err := readWebFile(c.File)
	if err != nil {
		return err
	}
	for _, h := range hashes {
		if _, twice := l.byName[h.name]; twice {
			return fmt.Errorf("%s: user %q is also in web.users", c.File, h.name)
		}
		l.byName[h.name] = credential{name: h.name, role: c.roleOf(h.name), bcrypt: h.text}
	}
	return nil
}

// roleOf returns the role of a user of File or Proxy.
func (c Config) roleOf(name string) Role {
	if r, ok := c.Roles[name]; ok {
		return r
	}
	return Viewer
}

func (l *list) add(u User, key []byte) error {
	c := credential{name: u.Name, role: u.Role, expires: u.Expires}
	if c.role == "" {
		c.role = Admin
	}
	switch {
	case u.TokenFile != "":
		text, err := dial.Secret(u.TokenFile)
		if err != nil {
			return fmt.Errorf("token_file: %w", err)
		}
		if len(text) < minToken {
			return fmt.Errorf("token_file: %s: want a token of %d bytes or more", u.TokenFile, minToken)
		}
		sum := keyed(key, text)
		if other, twice := l.byToken[sum]; twice {
			return fmt.Errorf("token_file: %s: the token is also that of %s", u.TokenFile, other.name)
		}
		l.byToken[sum] = c
		return nil
	case u.PasswordFile != "":
		text, err := dial.Secret(u.PasswordFile)
		if err != nil {
			return fmt.Errorf("password_file: %w", err)
		}
		if !strings.HasPrefix(text, "$2") {
			c.plain = keyed(key, text)
			l.byName[u.Name] = c
			return nil
		}
		u.PasswordHash = text
	}
	if err := checkHash(u.PasswordHash); err != nil {
		return fmt.Errorf("password_hash: %w", err)
	}
	c.bcrypt = []byte(u.PasswordHash)
	l.byName[u.Name] = c
	return nil
}

// changed reports whether a file is not as it was read.
func (l *list) changed() bool {
	for path, was := range l.stamps {
		if stampOf(path) != was {
			return true
		}
	}
	return false
}

// keyed is a hash of a secret under a key of this process.
func keyed(key []byte, secret string) (sum [32]byte) {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(secret))
	h.Sum(sum[:0])
	return sum
}

// unknown is compared with where a name is unknown, so that it takes as long.
func unknown() (credential, error) {
	h, err := bcrypt.GenerateFromPassword([]byte("no password of anybody"), bcrypt.DefaultCost)
	return credential{bcrypt: h}, err
}

func warnUnread(log *slog.Logger, err error) {
	log.Error("users whose files cannot be read are refused", "error", err)
}
