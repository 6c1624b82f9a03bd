package webhook

import (
	"fmt"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
)

// New makes a webhook. It reads the files of c.Post.TLS, and c.SecretFile only to
// find out early whether it can be used.
func New(c Config) (*post.Sender, error) {
	err := c.Validate()
	if err == nil {
		_, err = c.keys()
	}
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	// Address, headers and where the secret comes from, not readable. The empty text
	// keeps it as it was when a secret could stand there.
	fingerprint := post.Fingerprint([]map[string]string{c.Post.Headers}, "%q %q %q %s", c.URL, "", c.SecretFile, c.Post.Trust())
	return post.NewSender("webhook", c.Post, fingerprint, c.request)
}

// request is a message of ours, signed.
func (c Config) request(m *notify.Message, at time.Time) (post.Request, error) {
	keys, err := c.keys()
	if err != nil {
		return post.Request{}, err
	}
	now := at.Unix()
	header := map[string]string{"Webhook-Id": m.ID, "Webhook-Timestamp": strconv.FormatInt(now, 10)}
	if len(keys) > 0 {
		header["Webhook-Signature"] = sign(keys, m.ID, now, m.Body)
	}
	return post.Request{URL: c.URL, Header: header, Body: m.Body}, nil
}
