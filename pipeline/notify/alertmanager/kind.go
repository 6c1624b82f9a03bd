package alertmanager

import (
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
)

// Settings is a cluster of Alertmanagers, to all peers of which alerts are sent.
type Settings struct {
	// URLs are those of all peers.
	URLs []string `yaml:"urls" format:"url" example:"['http://am-0:9093', 'http://am-1:9093']"`
	// Authorization is shown to them.
	Authorization dial.Authorization `yaml:"authorization" was:"token_file=credentials_file"`
	// ResendInterval is how often open alerts are sent again; the default is 1 min.
	ResendInterval time.Duration `yaml:"resend_interval" was:"resend"`
	// Labels are added to every alert.
	Labels map[string]string `yaml:"labels"`
	// Headers are sent with every request.
	Headers         map[string]string `yaml:"headers"`
	kind.Template   `yaml:",inline"`
	kind.Connection `yaml:",inline"`
}

// Validate reports missing URLs and invalid templates.
func (s Settings) Validate() error {
	if len(s.URLs) == 0 {
		return kind.Required("urls", "")
	}
	return s.Problem()
}

// Open makes the notifier, which sends nothing yet. Errors name the key.
func Open(s *Settings, e kind.Environment) (notify.Notifier, error) {
	p, err := e.Post(s.Connection, s.Headers, s.URLs...)
	if err != nil {
		return nil, err
	}
	return New(Config{URLs: s.URLs, Resend: s.ResendInterval, Labels: s.Labels, Authorization: s.Authorization, Text: e.Text(s.Template), Post: p})
}
