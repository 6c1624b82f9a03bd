// Package kind describes kinds of receivers. A kind is a struct of settings, whose tags
// are its keys, defaults and bounds and whose comments are the reference, and a function
// that opens them. The function is no method, so that a program which only reads the
// configuration does not link what sends.
//
// It owns what kinds have in common. It never imports one: each has a file kind.go with
// Settings and Open in its folder, and pipeline/notify/standard lists them.
package kind

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/egress"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/settings"
)

// Environment is what the service has for all receivers.
type Environment struct {
	Guard   egress.Guard // where messages may be sent
	Page    string       // the page's address
	Version string       // of the program
}

// Post returns how requests to addresses are sent, and an error if nothing may be sent
// to one of them.
func (e Environment) Post(c Connection, headers map[string]string, addresses ...string) (post.Config, error) {
	for _, address := range addresses {
		if err := Allowed(e.Guard, address); err != nil {
			return post.Config{}, err
		}
	}
	return post.Config{Headers: headers, Timeout: c.Timeout, TLS: c.TLS, Egress: e.Guard, Version: e.Version}, nil
}

// Allowed returns an error if nothing may be sent to an address of the configuration.
func Allowed(g egress.Guard, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil // an address that is none is refused by its owner
	}
	return g.Host(u.Hostname())
}

// Text returns how a message is written.
func (e Environment) Text(t Template) text.Config {
	return text.Config{Title: t.Title, Body: t.Text, Page: e.Page}
}

// Connection is how a receiver is reached.
type Connection struct {
	// Timeout bounds one attempt; the default is 15 s.
	Timeout time.Duration `yaml:"timeout" max:"2m"`
	// TLS is for https.
	TLS dial.TLS `yaml:"tls"`
}

// Template is the text of a message, in the templates of Go. Empty is what the kind
// of receiver has.
type Template struct {
	// Title is a template of one line.
	Title string `yaml:"title"`
	// Text is a template of the rest.
	Text string `yaml:"text"`
}

// Problem returns what is wrong with a template.
func (t Template) Problem() error {
	var wrong []error
	if _, err := text.New(text.Config{Title: t.Title}); err != nil {
		wrong = append(wrong, &settings.KeyError{Key: "title", Err: err})
	}
	if _, err := text.New(text.Config{Body: t.Text}); err != nil {
		wrong = append(wrong, &settings.KeyError{Key: "text", Err: err})
	}
	return errors.Join(wrong...)
}

// Channel is a receiver whose address is a secret in a file, and the texts of its
// messages.
type Channel struct {
	URLFile string // holds the address in one line; read for every message
	Text    text.Config
	Post    post.Config
}

// Writer returns a message in the form of a channel's kind.
type Writer func(m *notify.Message, words *text.Text) ([]byte, error)

// Open makes a receiver of a kind; key is the one of URLFile. It reads the file only to
// find out early whether it can be used.
func (c Channel) Open(kind, key string, write Writer) (*post.Sender, error) {
	words, err := text.New(c.Text)
	if _, wrong := post.AddressOf(key, c.URLFile); wrong != nil {
		err = wrong
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	fingerprint := post.Fingerprint(nil, kind+" %q %q %s", c.URLFile, c.Text, c.Post.Trust())
	return post.NewSender(kind, c.Post, fingerprint, func(m *notify.Message, _ time.Time) (r post.Request, err error) {
		if r.URL, err = post.AddressOf(key, c.URLFile); err == nil {
			r.Body, err = write(m, words)
		}
		return r, err
	})
}

// Required returns an error for a key without a value.
func Required(key, value string) error {
	if value == "" {
		return fmt.Errorf("%s: required", key)
	}
	return nil
}
