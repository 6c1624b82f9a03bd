package pipeline

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/egress"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/alertmanager"
	"github.com/quintet-dc/quintet/pipeline/notify/cloudevents"
	"github.com/quintet-dc/quintet/pipeline/notify/pagerduty"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/slack"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// receivers makes the receivers of the configuration.
func (s *service) receivers() ([]notify.Receiver, error) {
	var out []notify.Receiver
	for _, r := range s.c.File.Notify.Receivers {
		one, err := s.receiver(r)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (s *service) receiver(r config.Receiver) (notify.Receiver, error) {
	n, err := s.notifier(r)
	if err != nil {
		return notify.Receiver{}, fmt.Errorf("notify: receivers: %s: %w", r.Name, err)
	}
	kinds := []string{explain.KindIncident}
	if r.Risks {
		kinds = append(kinds, explain.KindRisk)
	}
	if r.Alerts {
		kinds = append(kinds, notify.KindAlert)
	}
	return notify.Receiver{Name: r.Name, Notifier: n, Severities: r.Severities, Kinds: kinds, Notes: r.Notes, Corrections: !r.Figures, Timeout: timeout(r)}, nil
}

// allowed returns an error if nothing may be sent to an address of the configuration.
func allowed(g egress.Guard, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil // an address that is none is refused by its owner
	}
	return g.Host(u.Hostname())
}

// notifier returns the Notifier of one receiver.
func (s *service) notifier(r config.Receiver) (notify.Notifier, error) {
	guard, page := s.c.File.Egress.Guard(), s.c.File.Notify.ExternalURL
	reach := func(c config.Connection, headers map[string]string) post.Config {
		return post.Config{Headers: headers, Timeout: c.Timeout, TLS: c.TLS, Egress: guard, Version: s.c.Version}
	}
	words := func(t config.Template) text.Config { return text.Config{Title: t.Title, Body: t.Text, Page: page} }
	for _, address := range addresses(r) {
		if err := allowed(guard, address); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Webhook != nil:
		w := r.Webhook
		return webhook.New(webhook.Config{URL: w.URL, SecretFile: w.SecretFile, Headers: w.Headers, Timeout: w.Timeout, TLS: w.TLS, Egress: guard, Version: s.c.Version})
	case r.Alertmanager != nil:
		a := r.Alertmanager
		return alertmanager.New(alertmanager.Config{URLs: a.URLs, Resend: a.ResendInterval, Labels: a.Labels, Authorization: a.Authorization, Text: words(a.Template), Post: reach(a.Connection, a.Headers)})
	case r.Slack != nil:
		return slack.New(slack.Config{URLFile: r.Slack.URLFile, Text: words(r.Slack.Template), Post: reach(r.Slack.Connection, nil)})
	case r.PagerDuty != nil:
		p := r.PagerDuty
		return pagerduty.New(pagerduty.Config{URL: p.URL, KeyFile: p.KeyFile, Text: words(p.Template), Post: reach(p.Connection, nil)})
	case r.CloudEvents != nil:
		c := r.CloudEvents
		return cloudevents.New(cloudevents.Config{URL: c.URL, Mode: c.Mode, Source: c.Source, Authorization: c.Authorization, Post: reach(c.Connection, c.Headers)})
	}
	return nil, errors.New("want one of webhook, alertmanager, slack, pagerduty and cloudevents")
}

// addresses lists where the configuration sends the messages of a receiver.
func addresses(r config.Receiver) []string {
	switch {
	case r.Webhook != nil:
		return []string{r.Webhook.URL}
	case r.Alertmanager != nil:
		return r.Alertmanager.URLs
	case r.PagerDuty != nil:
		return []string{r.PagerDuty.URL}
	case r.CloudEvents != nil:
		return []string{r.CloudEvents.URL}
	}
	return nil
}

// timeout returns the time that one attempt to reach a receiver may take; 0 is what the
// kind of receiver takes.
func timeout(r config.Receiver) time.Duration {
	switch {
	case r.Webhook != nil:
		return r.Webhook.Timeout
	case r.Alertmanager != nil:
		return r.Alertmanager.Timeout
	case r.Slack != nil:
		return r.Slack.Timeout
	case r.PagerDuty != nil:
		return r.PagerDuty.Timeout
	case r.CloudEvents != nil:
		return r.CloudEvents.Timeout
	}
	return 0
}

// routes are the routes of the configuration.
func (s *service) routes() (out []notify.Route) {
	for _, r := range s.c.File.Notify.Routes {
		out = append(out, notify.Route{Match: r.Matchers, Receivers: r.Receivers, Continue: r.Continue})
	}
	return out
}
