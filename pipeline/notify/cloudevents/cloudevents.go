package cloudevents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// The modes.
const (
	Structured = "structured" // attributes and data in the body; the usual
	Binary     = "binary"     // attributes in headers, data as the body
)

// typePrefix precedes incident.opened and the like.
const typePrefix = "io.quintet."

// Config is where events are sent.
type Config struct {
	URL    string
	Mode   string // Structured where it is empty
	Source string // the events' source, a URI; urn:quintet:<site> where it is empty
	Post   post.Config
	// Authorization is shown to the receiver.
	Authorization dial.Authorization
}

// New makes a receiver.
func New(c Config) (*post.Sender, error) {
	c.Mode = cmp.Or(c.Mode, Structured)
	if c.Mode != Structured && c.Mode != Binary {
		return nil, fmt.Errorf("cloudevents: mode %.20q: want %s or %s", c.Mode, Structured, Binary)
	}
	if _, err := post.Address(c.URL); err != nil {
		return nil, fmt.Errorf("cloudevents: %w", err)
	}
	if u, err := url.Parse(c.Source); err != nil || strings.ContainsAny(c.Source, " \r\n") {
		return nil, fmt.Errorf("cloudevents: source %.60q: want a URI: %v", c.Source, u)
	}
	if _, err := c.Authorization.Header(); err != nil {
		return nil, fmt.Errorf("cloudevents: %w", err)
	}
	fingerprint := post.Fingerprint([]map[string]string{c.Post.Headers}, "cloudevents %q %q %q %q %s", c.URL, c.Mode, c.Source, c.Authorization.CredentialsFile, c.Post.Trust())
	return post.NewSender("cloudevents", c.Post, fingerprint, func(m *notify.Message, _ time.Time) (post.Request, error) {
		authorization, err := c.Authorization.Header()
		if err != nil {
			return post.Request{}, err
		}
		r, err := c.request(m)
		if err == nil && authorization != "" {
			r.Header["Authorization"] = authorization
		}
		return r, err
	})
}

// attributes are those of one event.
type attributes struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            string          `json:"time,omitempty"`
	DataContentType string          `json:"datacontenttype"`
	Severity        string          `json:"severity,omitempty"` // ours, an extension
	Data            json.RawMessage `json:"data"`
}

// request is an event as it travels. Its data is the webhook's body as it is.
func (c Config) request(m *notify.Message) (post.Request, error) {
	content, err := m.Read()
	if err != nil {
		return post.Request{}, err
	}
	a := attributes{SpecVersion: "1.0", ID: m.ID, Source: cmp.Or(c.Source, "urn:quintet:"+url.PathEscape(cmp.Or(content.Data.Site, "site"))), Type: typePrefix + m.Type, Subject: content.Data.ID,
		DataContentType: "application/json", Severity: content.Data.Severity, Data: m.Body}
	if at := text.Time(content); at != 0 {
		a.Time = at.String()
	}
	r := post.Request{URL: c.URL, Header: map[string]string{}}
	if c.Mode == Binary {
		for name, value := range map[string]string{"ce-specversion": a.SpecVersion, "ce-id": a.ID, "ce-source": a.Source, "ce-type": a.Type, "ce-subject": a.Subject, "ce-time": a.Time, "ce-severity": a.Severity} {
			if value != "" {
				r.Header[name] = value
			}
		}
		r.ContentType, r.Body = a.DataContentType, m.Body
		return r, nil
	}
	b, err := post.JSON(a)
	r.ContentType, r.Body = "application/cloudevents+json; charset=utf-8", b
	return r, err
}
