package dial

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/quintet-dc/quintet/settings"
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

// Header returns the value of the header; empty where there is no file.
func (a Authorization) Header() (string, error) {
	if a.CredentialsFile == "" {
		return "", nil
	}
	token, err := Secret(a.CredentialsFile)
	if err != nil {
		return "", fmt.Errorf("credentials_file: %w", err)
	}
	return cmp.Or(a.Type, "Bearer") + " " + token, nil
}

// Authorize sets the Authorization header of a request, by a or by b, whichever is
// given.
func Authorize(r *http.Request, b BasicAuth, a Authorization) error {
	if b.Any() {
		name, password, err := b.Read()
		if err == nil {
			r.SetBasicAuth(name, password)
		}
		return err
	}
	value, err := a.Header()
	if value != "" {
		r.Header.Set("Authorization", value)
	}
	return err
}

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 64 << 10

// Secret reads a file that holds a secret in its only line.
func Secret(path string) (string, error) {
	b, err := settings.ReadFile(path, maxSecret)
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(b), "\r\n")
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("%s: want one line", path)
	}
	return text, nil
}
