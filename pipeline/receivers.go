package pipeline

import (
	"cmp"
	"fmt"
	"net/url"

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
	for _, r := range s.c.File.Receivers {
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
	return notify.Receiver{Name: r.Name, Notifier: n, Severities: r.Severities, Kinds: kinds, Notes: r.Notes, Corrections: !r.Figures, Timeout: r.Timeout}, nil
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
	words := text.Config{Title: r.Title, Body: r.Text, Page: s.c.File.Notify.Page}
	over := post.Config{Headers: r.Headers, Timeout: r.Timeout, TLS: post.TLS{CAFile: r.TLS.CA, CertFile: r.TLS.Cert, KeyFile: r.TLS.Key, ServerName: r.TLS.ServerName}, Egress: s.c.File.Egress, Version: s.c.Version}
	for _, address := range append([]string{r.URL}, r.URLs...) {
		if err := allowed(s.c.File.Egress, address); err != nil {
			return nil, err
		}
	}
	switch kind := cmp.Or(r.Kind, config.KindWebhook); kind {
	case config.KindWebhook:
		return webhook.New(webhook.Config{URL: r.URL, SecretFile: r.SecretFile, Headers: r.Headers, Timeout: r.Timeout, TLS: over.TLS, Egress: over.Egress, Version: s.c.Version})
	case config.KindAlertmanager:
		return alertmanager.New(alertmanager.Config{URLs: r.URLs, Resend: r.Resend, Labels: r.Labels, TokenFile: r.SecretFile, Text: words, Post: over})
	case config.KindSlack:
		return slack.New(slack.Config{URLFile: r.SecretFile, Text: words, Post: over})
	case config.KindPagerDuty:
		return pagerduty.New(pagerduty.Config{URL: r.URL, KeyFile: r.SecretFile, Text: words, Post: over})
	case config.KindCloudEvents:
		return cloudevents.New(cloudevents.Config{URL: r.URL, Mode: r.Mode, Source: r.Source, TokenFile: r.SecretFile, Post: over})
	default:
		return nil, fmt.Errorf("kind %.40q is not known", kind)
	}
}

// routes are the routes of the configuration.
func (s *service) routes() (out []notify.Route) {
	for _, r := range s.c.File.Notify.Routes {
		out = append(out, notify.Route{Match: r.Match, Receivers: r.Receivers, Continue: r.Continue})
	}
	return out
}
