package pagerduty

import (
	"cmp"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
)

// Settings is a service of PagerDuty, to which events of its version 2 are sent.
type Settings struct {
	// KeyFile is a file with the integration's key.
	KeyFile string `yaml:"routing_key_file" was:"key_file"`
	// URL takes the place of PagerDuty's own.
	URL             string `yaml:"url" format:"url"`
	kind.Template   `yaml:",inline"`
	kind.Connection `yaml:",inline"`
}

// Validate reports a missing key and invalid templates.
func (s Settings) Validate() error {
	return cmp.Or(kind.Required("routing_key_file", s.KeyFile), s.Problem())
}

// Open makes the notifier, which sends nothing yet. Errors name the key.
func Open(s *Settings, e kind.Environment) (notify.Notifier, error) {
	p, err := e.Post(s.Connection, nil, s.URL)
	if err != nil {
		return nil, err
	}
	return New(Config{URL: s.URL, KeyFile: s.KeyFile, Text: e.Text(s.Template), Post: p})
}
