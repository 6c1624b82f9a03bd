package dial

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// BasicAuth is a user name and a password. Files are read for every request or
// session, so that a changed password needs no restart.
type BasicAuth struct {
	// Username is the name; UsernameFile a file with it.
	Username string `yaml:"username" max:"256"`
	// UsernameFile is a file with the name in its only line.
	UsernameFile string `yaml:"username_file"`
	// PasswordFile is a file with the password in its only line.
	PasswordFile string `yaml:"password_file"`
}

// Any reports whether a user is named.
func (b BasicAuth) Any() bool { return b != BasicAuth{} }

// Validate reports keys that exclude or require one another.
func (b BasicAuth) Validate() error {
	switch {
	case b.Username != "" && b.UsernameFile != "":
		return errors.New("username and username_file: mutually exclusive")
	case b.Any() && (b.PasswordFile == "" || b.Username+b.UsernameFile == ""):
		return errors.New("username and password_file: each requires the other")
	}
	return nil
}

// Read returns the name and the password as they are now.
func (b BasicAuth) Read() (name, password string, err error) {
	name = b.Username
	if b.UsernameFile != "" {
		if name, err = Secret(b.UsernameFile); err != nil {
			return "", "", fmt.Errorf("username_file: %w", err)
		}
	}
	if b.PasswordFile != "" {
		if password, err = Secret(b.PasswordFile); err != nil {
			return "", "", fmt.Errorf("password_file: %w", err)
		}
	}
	return name, password, nil
}

// Authorization is what an Authorization header has. The file is read for every
// request.
type Authorization struct {
	// Type is the first word of the header.
	Type string `yaml:"type" default:"Bearer" max:"32"`
	// CredentialsFile is a file with the token in its only line.
	CredentialsFile string `yaml:"credentials_file"`
}

// Authorize sets the Authorization header of a request, by a or by b, whichever is
// given.
func Authorize(r *http.Request, b BasicAuth, a Authorization) error {
	switch {
	case b.Any():
		name, password, err := b.Read()
		if err != nil {
			return err
		}
		r.SetBasicAuth(name, password)
	case a.CredentialsFile != "":
		token, err := Secret(a.CredentialsFile)
		if err != nil {
			return fmt.Errorf("credentials_file: %w", err)
		}
		scheme := a.Type
		if scheme == "" {
			scheme = "Bearer"
		}
		r.Header.Set("Authorization", scheme+" "+token)
	}
	return nil
}

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 64 << 10

// Secret reads a file that holds a secret in its only line.
func Secret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxSecret:
		return "", fmt.Errorf("%s: more than %d bytes", path, maxSecret)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
