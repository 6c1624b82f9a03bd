package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/notify/standard"
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

// Receiver is one entry below notify.receivers. One of its kinds is set.
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
	Figures        bool `yaml:"figures"`
	standard.Kinds `yaml:",inline"`
}

// receiverName matches names that are valid in a delivery's id and key (package
// notify).
var receiverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate reports an invalid name, and a receiver that is of no kind or of several.
func (r Receiver) Validate() error {
	switch {
	case !receiverName.MatchString(r.Name):
		return errors.New("name: want letters, digits, - and _, 64 at most")
	case r.Count() != 1:
		return fmt.Errorf("%s: want one of %s, found %d", r.Name, standard.Names, r.Count())
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
