package webhook

import (
	"fmt"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
)

// New makes a webhook. It reads the files of c.TLS, and c.SecretFile only to
// find out early whether it can be used.
func New(c Config) (*post.Sender, error) {
	err := c.Validate()
	if err == nil {
		_, err = c.keys()
	}
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	// Address, headers and where the secret comes from, not readable.
	fingerprint := post.Fingerprint([]map[string]string{c.Headers}, "%q %q %q %s", c.URL, c.Secret, c.SecretFile, c.post().Trust())
	return post.NewSender("webhook", c.post(), fingerprint, c.request)
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
