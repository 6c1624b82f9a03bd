package webhook

import (
	"context"
	"fmt"
	"strconv"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
)

// Webhook is a receiver that is notified by HTTP requests. It is a notify.Notifier.
type Webhook struct {
	c      Config
	keys   []key // of Config.Secret
	client *post.Client
}

// New makes a webhook. It reads the files of c.TLS, and c.SecretFile only to
// find out early whether it can be used.
func New(c Config) (*Webhook, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	client, err := post.New(c.post())
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	w := &Webhook{c: c, client: client}
	if c.Secret != "" {
		if w.keys, err = parseSecrets(c.Secret); err != nil {
			return nil, fmt.Errorf("webhook: secret: %w", err)
		}
	}
	if c.SecretFile != "" {
		if _, err := readSecrets(c.SecretFile); err != nil {
			return nil, fmt.Errorf("webhook: %w", err)
		}
	}
	return w, nil
}

// Fingerprint implements notify.Notifier: address, headers and where the secret
// comes from, not readable.
func (w *Webhook) Fingerprint() string {
	return post.Fingerprint([]map[string]string{w.c.Headers}, "%q %q %q %s", w.c.URL, w.c.Secret, w.c.SecretFile, w.c.post().Trust())
}

// Notify implements notify.Notifier: one request.
func (w *Webhook) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	keys := w.keys
	if w.c.SecretFile != "" {
		var err error
		if keys, err = readSecrets(w.c.SecretFile); err != nil {
			return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
		}
	}
	now := w.client.Now().Unix()
	header := map[string]string{"Webhook-Id": m.ID, "Webhook-Timestamp": strconv.FormatInt(now, 10)}
	if len(keys) > 0 {
		header["Webhook-Signature"] = sign(keys, m.ID, now, m.Body)
	}
	return w.client.Send(ctx, post.Request{URL: w.c.URL, Header: header, Body: m.Body})
}
