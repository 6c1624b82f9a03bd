package webhook

import (
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
)

// Settings is an address that takes our own messages, CloudEvents-like JSON, signed as
// Standard Webhooks are.
type Settings struct {
	// URL is where they are sent.
	URL string `yaml:"url" format:"url"`
	// SecretFile is a file with the keys with which they are signed, whsec_ and base64;
	// required off loopback.
	SecretFile string `yaml:"secret_file"`
	// Headers are sent with every request.
	Headers         map[string]string `yaml:"headers"`
	kind.Connection `yaml:",inline"`
}

// Validate reports a missing URL.
func (s Settings) Validate() error { return kind.Required("url", s.URL) }

// Open makes the notifier, which sends nothing yet. Errors name the key.
func Open(s *Settings, e kind.Environment) (notify.Notifier, error) {
	p, err := e.Post(s.Connection, s.Headers, s.URL)
	if err != nil {
		return nil, err
	}
	return New(Config{URL: s.URL, SecretFile: s.SecretFile, Post: p})
}
