package pagerduty

import (
	"cmp"
	"fmt"
	"time"

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

// New makes a receiver, a service. It reads the file only to find out early whether it can
// be used.
func New(c Config) (*post.Sender, error) {
	c.URL = cmp.Or(c.URL, DefaultURL)
	_, err := post.Address(c.URL)
	if err == nil {
		_, err = c.key()
	}
	var words *text.Text
	if err == nil {
		words, err = text.New(c.Text)
	}
	if err != nil {
		return nil, fmt.Errorf("pagerduty: %w", err)
	}
	fingerprint := post.Fingerprint(nil, "pagerduty %q %q %q %s", c.URL, c.KeyFile, c.Text, c.Post.Trust())
	return post.NewSender("pagerduty", c.Post, fingerprint, func(m *notify.Message, _ time.Time) (post.Request, error) {
		key, err := c.key()
		if err != nil {
			return post.Request{}, err
		}
		b, err := body(m, words, key)
		return post.Request{URL: c.URL, Body: b}, err
	})
}

func (c Config) key() (string, error) { return post.SecretOf("routing_key_file", c.KeyFile) }

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
func body(m *notify.Message, t *text.Text, key string) ([]byte, error) {
	if m.Type == notify.TypeNoted {
		return acknowledged(m, key)
	}
	content, err := m.Read()
	if err != nil {
		return nil, err
	}
	v := t.View(content)
	title, prose, err := t.Render(v)
	if err != nil {
		return nil, err
	}
	e := event{Key: key, Action: "trigger", Dedup: v.ID, Client: "Quintet", Page: v.Link}
	if v.Link != "" {
		e.Links = []link{{v.Link, "In Quintet"}}
	}
	if content.Resolved() {
		e.Action = "resolve"
	}
	e.Payload = &payload{Summary: text.Cut(maxSummary, cmp.Or(title, v.ID)), Source: cmp.Or(v.Root, v.Site, "quintet"), Severity: severity(v.Severity), Timestamp: text.Time(content).String(),
		Component: v.Root, Group: v.Site, Class: v.Signature,
		Details: details{Event: m.ID, Text: text.Cut(maxDetails, prose), Notice: v.Notice, Root: &content.Data.Root, Jobs: v.Jobs, Actions: v.Actions, Incident: &content.Data}}
	if len(content.Data.Impact.Jobs) > 0 {
		e.Payload.Details.Impact = &content.Data.Impact.Jobs[0]
	}
	b, err := post.JSON(&e)
	if len(b) > maxEvent { // a chain of thousands: what is cut is on the page
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
