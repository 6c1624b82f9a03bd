package alertmanager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// Config lists the Alertmanagers and what is sent to them.
type Config struct {
	URLs          []string // of every peer; /api/v2/alerts is added
	Resend        time.Duration
	Labels        map[string]string // added to every alert
	Authorization dial.Authorization
	Text          text.Config
	Post          post.Config
}

const (
	defaultResend = time.Minute
	// lives is for how many times of resending an alert lives without one, as
	// Prometheus has it.
	lives    = 4
	maxBatch = 64     // alerts of one request, as Prometheus has it
	maxKnown = 10_000 // incidents whose labels are remembered
	maxPeers = 16
)

// Alertmanager is a cluster of them. It is a notify.Notifier and a
// notify.Reminder.
type Alertmanager struct {
	c      Config
	text   *text.Text
	client *post.Client
	urls   []string

	mu    sync.Mutex         // held while something is sent: what ends an alert is not overtaken
	known map[string][]alert // the alerts last sent of what is open
	ended map[string]int     // the revision that ended an incident
}

// alert is one as the API has it.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt,omitzero"`
	EndsAt      time.Time         `json:"endsAt,omitzero"`
	Generator   string            `json:"generatorURL,omitempty"`
}

// labelName is what Alertmanager of any version takes for one.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// New makes a receiver.
func New(c Config) (*Alertmanager, error) {
	a, err := build(c)
	if err != nil {
		return nil, fmt.Errorf("alertmanager: %w", err)
	}
	return a, nil
}

func build(c Config) (*Alertmanager, error) {
	c.Resend = cmp.Or(c.Resend, defaultResend)
	a := &Alertmanager{c: c, known: map[string][]alert{}, ended: map[string]int{}}
	if len(c.URLs) == 0 || len(c.URLs) > maxPeers {
		return nil, fmt.Errorf("urls: %d: want those of all peers, %d at most", len(c.URLs), maxPeers)
	}
	for _, u := range c.URLs {
		if _, err := post.Address(u); err != nil {
			return nil, err
		}
		if strings.ContainsAny(u, "?#") {
			return nil, errors.New("urls: want an address without a query")
		}
		a.urls = append(a.urls, strings.TrimSuffix(strings.TrimSuffix(u, "/"), "/api/v2/alerts")+"/api/v2/alerts")
	}
	if c.Resend < time.Second || c.Resend > time.Hour {
		return nil, fmt.Errorf("resend_interval: %v: want 1s to 1h", c.Resend)
	}
	for name := range c.Labels {
		if !labelName.MatchString(name) || slices.Contains(ours, name) {
			return nil, fmt.Errorf("labels: %.60q: want a name of letters, digits and _ that is not reserved", name)
		}
	}
	if _, err := a.header(); err != nil {
		return nil, err
	}
	var err error
	if a.text, err = text.New(c.Text); err != nil {
		return nil, err
	}
	a.client, err = post.New(c.Post)
	return a, err
}

// header holds the token.
func (a *Alertmanager) header() (map[string]string, error) {
	value, err := a.c.Authorization.Header()
	if value == "" {
		return nil, err
	}
	return map[string]string{"Authorization": value}, nil
}

// Fingerprint implements notify.Notifier.
func (a *Alertmanager) Fingerprint() string {
	return post.Fingerprint([]map[string]string{a.c.Labels, a.c.Post.Headers}, "alertmanager %q %q %s", a.urls, a.c.Authorization.CredentialsFile, a.c.Post.Trust())
}

// Notify implements notify.Notifier.
func (a *Alertmanager) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	if m.Type == notify.TypeNoted {
		return notify.Answer{Verdict: notify.Taken} // an alert has no place for it
	}
	content, err := m.Read()
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	now := a.client.Now()
	next, err := a.alerts(content, now)
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var batch []alert
	for _, before := range a.known[content.Data.ID] {
		if !slices.ContainsFunc(next, func(x alert) bool { return maps.Equal(x.Labels, before.Labels) }) {
			before.EndsAt = now
			batch = append(batch, before)
		}
	}
	batch = append(batch, next...)
	answer := a.send(ctx, batch)
	if answer.Verdict != notify.Taken {
		return answer
	}
	if len(a.known)+len(a.ended) > maxKnown {
		clear(a.ended)
		clear(a.known)
	}
	if content.Resolved() {
		delete(a.known, content.Data.ID)
		a.ended[content.Data.ID] = content.Data.Revision
	} else {
		a.known[content.Data.ID] = next
		delete(a.ended, content.Data.ID)
	}
	return answer
}

// RemindEvery implements notify.Reminder.
func (a *Alertmanager) RemindEvery() time.Duration { return a.c.Resend }

// Remind implements notify.Reminder: the alerts of what is open live on.
func (a *Alertmanager) Remind(ctx context.Context, open []*notify.Message) notify.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.client.Now()
	var batch []alert
	for _, m := range open {
		content, err := m.Read()
		if err != nil {
			continue // it was sent once, and then it could be read
		}
		if r, over := a.ended[content.Data.ID]; over && r >= content.Data.Revision {
			continue
		}
		if next, err := a.alerts(content, now); err == nil {
			batch = append(batch, next...)
		}
	}
	answer := notify.Answer{Verdict: notify.Taken}
	for part := range slices.Chunk(batch, maxBatch) {
		if x := a.send(ctx, part); x.Verdict != notify.Taken {
			answer = x
		}
	}
	return answer
}

// send posts a batch to every peer at once. It is accepted if one peer accepts it:
// the others receive it with the next reminder.
func (a *Alertmanager) send(ctx context.Context, batch []alert) notify.Answer {
	header, err := a.header()
	var body []byte
	if err == nil {
		body, err = post.JSON(batch)
	}
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	answers := make([]notify.Answer, len(a.urls))
	var all sync.WaitGroup
	for i, u := range a.urls {
		all.Go(func() {
			answers[i] = a.client.Send(ctx, post.Request{URL: u, Header: header, Body: body})
		})
	}
	all.Wait()
	return together(answers)
}

// together combines the peers' answers.
func together(answers []notify.Answer) notify.Answer {
	out := answers[0]
	for _, x := range answers {
		if x.Verdict == notify.Taken {
			return x
		}
		if x.Verdict == notify.NoAnswer || out.Verdict == notify.Gone {
			x.After = max(x.After, out.After)
			out = x
		}
		out.After = max(out.After, x.After)
	}
	return out
}
