package cloudevents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

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

// Sink is where events go. It is a notify.Notifier.
type Sink struct {
	c      Config
	client *post.Client
}

// New makes a receiver.
func New(c Config) (*Sink, error) {
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
	s := &Sink{c: c}
	if _, err := post.Bearer(c.Authorization); err != nil {
		return nil, fmt.Errorf("cloudevents: %w", err)
	}
	var err error
	if s.client, err = post.New(c.Post); err != nil {
		return nil, fmt.Errorf("cloudevents: %w", err)
	}
	return s, nil
}

// Fingerprint implements notify.Notifier.
func (s *Sink) Fingerprint() string {
	return post.Fingerprint([]map[string]string{s.c.Post.Headers}, "cloudevents %q %q %q %q %s", s.c.URL, s.c.Mode, s.c.Source, s.c.Authorization.CredentialsFile, s.c.Post.Trust())
}

// Notify implements notify.Notifier.
func (s *Sink) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	authorization, err := post.Bearer(s.c.Authorization)
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	r, err := s.request(m)
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	if authorization != "" {
		r.Header["Authorization"] = authorization
	}
	return s.client.Send(ctx, r)
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
func (s *Sink) request(m *notify.Message) (post.Request, error) {
	told, err := m.Read()
	if err != nil {
		return post.Request{}, err
	}
	a := attributes{SpecVersion: "1.0", ID: m.ID, Source: cmp.Or(s.c.Source, "urn:quintet:"+url.PathEscape(cmp.Or(told.Data.Site, "site"))), Type: typePrefix + m.Type, Subject: told.Data.ID,
		DataContentType: "application/json", Severity: told.Data.Severity, Data: m.Body}
	if at := text.Time(told); at != 0 {
		a.Time = at.String()
	}
	r := post.Request{URL: s.c.URL, Header: map[string]string{}}
	if s.c.Mode == Binary {
		for name, value := range map[string]string{"ce-specversion": a.SpecVersion, "ce-id": a.ID, "ce-source": a.Source, "ce-type": a.Type, "ce-subject": a.Subject, "ce-time": a.Time, "ce-severity": a.Severity} {
			if value != "" {
				r.Header[name] = value
			}
		}
		r.ContentType, r.Body = a.DataContentType, m.Body
		return r, nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err = enc.Encode(a)
	r.ContentType, r.Body = "application/cloudevents+json; charset=utf-8", out.Bytes()
	return r, err
}
