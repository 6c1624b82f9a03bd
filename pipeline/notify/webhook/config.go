package webhook

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/egress"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
)

// Config configures a webhook's address and signature.
type Config struct {
	URL string // http or https
	// Secret and SecretFile hold one secret (whsec_ and base64), or several,
	// separated by white space, while they are rotated: every request is signed
	// with each. At most one of the two is set; a file is read again for every
	// request. Without either, requests are not signed, which is refused off
	// loopback.
	Secret     string
	SecretFile string
	Headers    map[string]string // sent beside ours
	Timeout    time.Duration     // of one request, answer included; 0 means 15 s
	TLS        dial.TLS
	Egress     egress.Guard     // where connections may go
	Version    string           // of the program, for User-Agent
	Now        func() time.Time // nil: time.Now
}

// ours lists the headers that a configuration cannot set, in addition to those of
// every request.
var ours = []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}

// post is c as far as every request has it.
func (c Config) post() post.Config {
	return post.Config{Headers: c.Headers, Timeout: c.Timeout, TLS: c.TLS, Egress: c.Egress, Version: c.Version, Now: c.Now}
}

// Validate returns an error if c is invalid. It does not read files.
func (c Config) Validate() error {
	u, err := post.Address(c.URL)
	if err != nil {
		return err
	}
	switch {
	case c.Secret != "" && c.SecretFile != "":
		return errors.New("secret, secret_file: want one of them, not both")
	case c.Secret == "" && c.SecretFile == "" && !post.Loopback(u.Hostname()):
		return errors.New("secret_file: off loopback a webhook must be signed")
	}
	if c.Secret != "" {
		if _, err := parseSecrets(c.Secret); err != nil {
			return fmt.Errorf("secret: %w", err)
		}
	}
	for name := range c.Headers {
		if slices.Contains(ours, textproto.CanonicalMIMEHeaderKey(name)) {
			return fmt.Errorf("headers: %s is reserved", name)
		}
	}
	return c.post().Validate()
}
