package cloudevents

import (
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
)

// Settings is a receiver of CloudEvents over HTTP.
type Settings struct {
	// URL is where they are sent.
	URL string `yaml:"url" format:"url"`
	// Authorization is shown to it.
	Authorization dial.Authorization `yaml:"authorization" was:"token_file=credentials_file"`
	// Mode is the content mode.
	Mode string `yaml:"mode" default:"structured" oneof:"structured binary"`
	// Source is the events' source, a URI; the default is urn:quintet:SITE.
	Source string `yaml:"source"`
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
	return New(Config{URL: s.URL, Mode: s.Mode, Source: s.Source, Authorization: s.Authorization, Post: p})
}
