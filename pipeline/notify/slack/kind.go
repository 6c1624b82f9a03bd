package slack

import (
	"cmp"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
)

// Settings is a channel of Slack.
type Settings struct {
	// URLFile is a file with the address of an incoming webhook.
	URLFile         string `yaml:"api_url_file" was:"url_file"`
	kind.Template   `yaml:",inline"`
	kind.Connection `yaml:",inline"`
}

// Validate reports a missing address and invalid templates.
func (s Settings) Validate() error {
	return cmp.Or(kind.Required("api_url_file", s.URLFile), s.Problem())
}

// Open makes the notifier, which sends nothing yet. Errors name the key.
func Open(s *Settings, e kind.Environment) (notify.Notifier, error) {
	p, err := e.Post(s.Connection, nil)
	if err != nil {
		return nil, err
	}
	return New(kind.Channel{URLFile: s.URLFile, Text: e.Text(s.Template), Post: p})
}
