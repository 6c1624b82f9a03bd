package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/settings"
)

// Notify configures what is sent to which receiver.
type Notify struct {
	// ExternalURL is the page's address, where links in messages lead; no links if empty.
	ExternalURL string `yaml:"external_url" was:"page" format:"url" example:"https://quintet.example.org"`
	// Inhibit holds back incidents that follow from another open incident.
	Inhibit bool `yaml:"inhibit" default:"true"`
	// Flaps holds back incidents that open and close again and again.
	Flaps Flaps `yaml:"flaps"`
	// Teams are teams and the incidents that are theirs.
	Teams []match.Owner `yaml:"teams" example:"[{name: net, matchers: [domain=network]}]"`
	// Routes are tried in order; without one, every receiver receives everything.
	Routes []Route `yaml:"routes" example:"[{matchers: [severity=critical], receivers: [pager]}]"`
	// Grafana is how alerts that Grafana sends here are signed.
	Grafana Grafana `yaml:"grafana"`
	// Receivers are where messages are sent.
	Receivers []Receiver `yaml:"receivers"`
}

// Grafana configures how Grafana signs the alerts that it sends here.
type Grafana struct {
	// SecretFile is a file with the secret; unsigned alerts are accepted if empty.
	SecretFile string `yaml:"secret_file"`
	// Timestamp is the header of its timestamp; none if empty.
	Timestamp string `yaml:"timestamp_header"`
}

// Flaps configures when flapping incidents are held back (package notify).
type Flaps struct {
	// Window is the time in which changes are counted.
	Window time.Duration `yaml:"window" default:"1h" max:"7d"`
	// Start is the number of changes from which an incident flaps; 0 is never.
	Start int `yaml:"start" default:"10" min:"0" max:"100"`
	// Stop is the number of changes below which it no longer does.
	Stop int `yaml:"stop" default:"2" min:"0" max:"100"`
}

// Validate reports numbers of changes that exclude one another.
func (f Flaps) Validate() error {
	if f.Start != 0 && (f.Start < 2 || f.Stop >= f.Start) {
		return errors.New("want a start of 2 or more (0: never), and a smaller stop")
	}
	return nil
}

// Route is one entry below notify.routes.
type Route struct {
	// Matchers select incidents, as those of Alertmanager do; all if there is none.
	Matchers match.Matchers `yaml:"matchers" was:"match" max:"32"`
	// Receivers are names of receivers.
	Receivers []string `yaml:"receivers"`
	// Continue tries the next routes too.
	Continue bool `yaml:"continue"`
}

// Receiver is one entry below notify.receivers. One of its last five fields is set.
type Receiver struct {
	// Name names it in routes and in what was delivered.
	Name string `yaml:"name"`
	// Severities are critical, warning and info; all if there is none.
	Severities []string `yaml:"severities"`
	// Risks sends risks too.
	Risks bool `yaml:"risks"`
	// Alerts sends alerts of rules too.
	Alerts bool `yaml:"alerts"`
	// Notes sends what people note on an incident.
	Notes bool `yaml:"notes"`
	// Figures sends revisions that change nothing but figures, too.
	Figures bool `yaml:"figures"`
	// Webhook sends CloudEvents-like JSON, signed as Standard Webhooks are.
	Webhook *Webhook `yaml:"webhook"`
	// Alertmanager sends alerts to all peers of a cluster.
	Alertmanager *Alertmanager `yaml:"alertmanager"`
	// Slack posts to a channel.
	Slack *Slack `yaml:"slack"`
	// PagerDuty sends events of its version 2.
	PagerDuty *PagerDuty `yaml:"pagerduty"`
	// CloudEvents sends CloudEvents over HTTP.
	CloudEvents *CloudEvents `yaml:"cloudevents"`
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

// problem returns what is wrong with a template.
func (t Template) problem() error {
	var wrong []error
	if _, err := text.New(text.Config{Title: t.Title}); err != nil {
		wrong = append(wrong, &settings.KeyError{Key: "title", Err: err})
	}
	if _, err := text.New(text.Config{Body: t.Text}); err != nil {
		wrong = append(wrong, &settings.KeyError{Key: "text", Err: err})
	}
	return errors.Join(wrong...)
}

// Webhook is an address that takes our own messages.
type Webhook struct {
	// URL is where they are sent.
	URL string `yaml:"url" format:"url"`
	// SecretFile is a file with the keys with which they are signed, whsec_ and base64;
	// required off loopback.
	SecretFile string `yaml:"secret_file"`
	// Headers are sent with every request.
	Headers    map[string]string `yaml:"headers"`
	Connection `yaml:",inline"`
}

// Validate reports a missing URL.
func (w Webhook) Validate() error { return required("url", w.URL) }

// Alertmanager is a cluster of Alertmanagers.
type Alertmanager struct {
	// URLs are those of all peers.
	URLs []string `yaml:"urls" format:"url" example:"['http://am-0:9093', 'http://am-1:9093']"`
	// Authorization is shown to them.
	Authorization dial.Authorization `yaml:"authorization" was:"token_file=credentials_file"`
	// ResendInterval is how often open alerts are sent again; the default is 1 min.
	ResendInterval time.Duration `yaml:"resend_interval" was:"resend"`
	// Labels are added to every alert.
	Labels map[string]string `yaml:"labels"`
	// Headers are sent with every request.
	Headers    map[string]string `yaml:"headers"`
	Template   `yaml:",inline"`
	Connection `yaml:",inline"`
}

// Validate reports missing URLs and invalid templates.
func (a Alertmanager) Validate() error {
	if len(a.URLs) == 0 {
		return required("urls", "")
	}
	return a.problem()
}

// Slack is a channel.
type Slack struct {
	// URLFile is a file with the address of an incoming webhook.
	URLFile    string `yaml:"api_url_file" was:"url_file"`
	Template   `yaml:",inline"`
	Connection `yaml:",inline"`
}

// Validate reports a missing address and invalid templates.
func (s Slack) Validate() error { return cmp.Or(required("api_url_file", s.URLFile), s.problem()) }

// PagerDuty is a service of PagerDuty.
type PagerDuty struct {
	// KeyFile is a file with the integration's key.
	KeyFile string `yaml:"routing_key_file" was:"key_file"`
	// URL takes the place of PagerDuty's own.
	URL        string `yaml:"url" format:"url"`
	Template   `yaml:",inline"`
	Connection `yaml:",inline"`
}

// Validate reports a missing key and invalid templates.
func (p PagerDuty) Validate() error {
	return cmp.Or(required("routing_key_file", p.KeyFile), p.problem())
}

// CloudEvents is a receiver of CloudEvents.
type CloudEvents struct {
	// URL is where they are sent.
	URL string `yaml:"url" format:"url"`
	// Authorization is shown to it.
	Authorization dial.Authorization `yaml:"authorization" was:"token_file=credentials_file"`
	// Mode is the content mode.
	Mode string `yaml:"mode" default:"structured" oneof:"structured binary"`
	// Source is the events' source, a URI; the default is urn:quintet:SITE.
	Source string `yaml:"source"`
	// Headers are sent with every request.
	Headers    map[string]string `yaml:"headers"`
	Connection `yaml:",inline"`
}

// Validate reports a missing URL.
func (c CloudEvents) Validate() error { return required("url", c.URL) }

// required returns an error for a key without a value.
func required(key, value string) error {
	if value == "" {
		return errors.New(key + ": required")
	}
	return nil
}

// receiverName matches names that are valid in a delivery's id and key (package
// notify).
var receiverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate reports an invalid name, and a receiver that is of no kind or of several.
func (r Receiver) Validate() error {
	kinds := 0
	for _, set := range []bool{r.Webhook != nil, r.Alertmanager != nil, r.Slack != nil, r.PagerDuty != nil, r.CloudEvents != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case !receiverName.MatchString(r.Name):
		return errors.New("name: want letters, digits, - and _, 64 at most")
	case kinds != 1:
		return fmt.Errorf("%s: want one of webhook, alertmanager, slack, pagerduty and cloudevents, found %d", r.Name, kinds)
	}
	return nil
}

// Validate reports names that two receivers have, teams of invalid names, and routes to
// receivers that there are not.
func (n Notify) Validate() error {
	var wrong []error
	at := map[string]bool{}
	for i, r := range n.Receivers {
		if at[r.Name] {
			wrong = append(wrong, settings.Errorf(fmt.Sprintf("receivers.%d", i), "duplicate name %q", r.Name))
		}
		at[r.Name] = true
	}
	for i, t := range n.Teams {
		switch {
		case !receiverName.MatchString(t.Name):
			wrong = append(wrong, settings.Errorf(fmt.Sprintf("teams.%d", i), "name: want letters, digits, - and _, 64 at most"))
		case slices.ContainsFunc(t.Match, func(m match.Matcher) bool { return m.Name == match.Team }):
			wrong = append(wrong, settings.Errorf(fmt.Sprintf("teams.%d", i), "%s: a team cannot be matched by teams", t.Name))
		}
	}
	for i, x := range n.Routes {
		for _, name := range x.Receivers {
			if !at[name] {
				wrong = append(wrong, settings.Errorf(fmt.Sprintf("routes.%d", i), "receiver %q: not found", name))
			}
		}
	}
	return errors.Join(wrong...)
}
