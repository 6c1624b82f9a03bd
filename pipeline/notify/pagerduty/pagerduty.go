package pagerduty

import (
	"cmp"
	"context"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// DefaultURL is where events go in the United States; Europe has another.
const DefaultURL = "https://events.pagerduty.com/v2/enqueue"

// PagerDuty's bounds (Events API v2).
const (
	maxSummary = 1024
	maxEvent   = 512 << 10
	maxDetails = 64 << 10 // of the prose
)

// Config is where events are sent, and their texts.
type Config struct {
	URL     string // DefaultURL where it is empty
	KeyFile string // holds the integration's key in one line; read for every event
	Text    text.Config
	Post    post.Config
}

// PagerDuty is a service. It is a notify.Notifier.
type PagerDuty struct {
	c      Config
	text   *text.Text
	client *post.Client
}

// New makes a receiver. It reads the file only to find out early whether it can
// be used.
func New(c Config) (*PagerDuty, error) {
	c.URL = cmp.Or(c.URL, DefaultURL)
	p := &PagerDuty{c: c}
	if _, err := post.Address(c.URL); err != nil {
		return nil, fmt.Errorf("pagerduty: %w", err)
	}
	if _, err := p.key(); err != nil {
		return nil, fmt.Errorf("pagerduty: %w", err)
	}
	var err error
	if p.text, err = text.New(c.Text); err != nil {
		return nil, fmt.Errorf("pagerduty: %w", err)
	}
	if p.client, err = post.New(c.Post); err != nil {
		return nil, fmt.Errorf("pagerduty: %w", err)
	}
	return p, nil
}

func (p *PagerDuty) key() (string, error) { return post.SecretOf("routing_key_file", p.c.KeyFile) }

// Fingerprint implements notify.Notifier.
func (p *PagerDuty) Fingerprint() string {
	return post.Fingerprint(nil, "pagerduty %q %q %q %s", p.c.URL, p.c.KeyFile, p.c.Text, p.c.Post.Trust())
}

// Notify implements notify.Notifier.
func (p *PagerDuty) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	key, err := p.key()
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	body, err := p.body(m, key)
	if err == nil && body == nil {
		return notify.Answer{Verdict: notify.Taken} // there is no such event
	}
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	return p.client.Send(ctx, post.Request{URL: p.c.URL, Body: body})
}

// The form of an event.
type (
	event struct {
		Key     string   `json:"routing_key"`
		Action  string   `json:"event_action"`
		Dedup   string   `json:"dedup_key"`
		Client  string   `json:"client"`
		Page    string   `json:"client_url,omitempty"`
		Links   []link   `json:"links,omitempty"`
		Payload *payload `json:"payload,omitempty"`
	}
	link struct {
		Href string `json:"href"`
		Text string `json:"text"`
	}
	payload struct {
		Summary   string  `json:"summary"`
		Source    string  `json:"source"`
		Severity  string  `json:"severity"`
		Timestamp string  `json:"timestamp"`
		Component string  `json:"component,omitempty"`
		Group     string  `json:"group,omitempty"`
		Class     string  `json:"class,omitempty"`
		Details   details `json:"custom_details"`
	}
	details struct {
		Event    string             `json:"event"` // incident, revision and receiver
		Text     string             `json:"text"`
		Notice   string             `json:"notice,omitempty"`
		Root     *explain.Root      `json:"root,omitempty"`
		Jobs     []string           `json:"jobs,omitempty"`
		Actions  []string           `json:"actions,omitempty"`
		Incident *explain.Incident  `json:"incident,omitempty"` // where it fits
		Impact   *explain.JobImpact `json:"impact,omitempty"`
	}
)

// body is an event as PagerDuty reads it, nil where there is none. It follows
// from m and the key alone.
func (p *PagerDuty) body(m *notify.Message, key string) ([]byte, error) {
	if m.Type == notify.TypeNoted {
		return acknowledged(m, key)
	}
	told, err := m.Read()
	if err != nil {
		return nil, err
	}
	v := p.text.View(told)
	title, prose, err := p.text.Render(v)
	if err != nil {
		return nil, err
	}
	e := event{Key: key, Action: "trigger", Dedup: v.ID, Client: "Quintet", Page: v.Link}
	if v.Link != "" {
		e.Links = []link{{v.Link, "In Quintet"}}
	}
	if told.Resolved() {
		e.Action = "resolve"
	}
	e.Payload = &payload{Summary: text.Cut(maxSummary, cmp.Or(title, v.ID)), Source: cmp.Or(v.Root, v.Site, "quintet"), Severity: severity(v.Severity), Timestamp: text.Time(told).String(),
		Component: v.Root, Group: v.Site, Class: v.Signature,
		Details: details{Event: m.ID, Text: text.Cut(maxDetails, prose), Notice: v.Notice, Root: &told.Data.Root, Jobs: v.Jobs, Actions: v.Actions, Incident: &told.Data}}
	if len(told.Data.Impact.Jobs) > 0 {
		e.Payload.Details.Impact = &told.Data.Impact.Jobs[0]
	}
	b, err := post.JSON(&e)
	if len(b) > maxEvent { // a chain of thousands: what is cut stands on the page
		e.Payload.Details.Incident = nil
		b, err = post.JSON(&e)
	}
	return b, err
}

// acknowledged returns the event of an incident that was acknowledged; nil if the
// newest note is not an acknowledgement.
func acknowledged(m *notify.Message, key string) ([]byte, error) {
	n, err := m.ReadNote()
	if err != nil || n.Acknowledged == nil || n.Assigned != nil && n.Assigned.At.After(n.Acknowledged.At) {
		return nil, err
	}
	return post.JSON(&event{Key: key, Action: "acknowledge", Dedup: n.ID, Client: "Quintet"})
}

// severity maps a severity to PagerDuty's.
func severity(s string) string {
	switch s {
	case explain.SeverityCritical, explain.SeverityWarning:
		return s
	}
	return "info"
}
