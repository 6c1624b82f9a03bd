package webhook

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"

	"github.com/quintet-dc/quintet/pipeline/notify/post"
)

// Config configures a webhook's address and signature.
type Config struct {
	URL string // http or https
	// SecretFile holds one secret (whsec_ and base64), or several, separated by
	// white space, while they are rotated: every request is signed with each. It is
	// read again for every request. Without it requests are not signed, which is
	// refused off loopback.
	SecretFile string
	Post       post.Config
}

// ours lists the headers that a configuration cannot set, in addition to those of
// every request.
var ours = []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}

// Validate returns an error if c is invalid. It does not read files.
func (c Config) Validate() error {
	u, err := post.Address(c.URL)
	if err != nil {
		return err
	}
	if c.SecretFile == "" && !post.Loopback(u.Hostname()) {
		return errors.New("secret_file: off loopback a webhook must be signed")
	}
	for name := range c.Post.Headers {
		if slices.Contains(ours, textproto.CanonicalMIMEHeaderKey(name)) {
			return fmt.Errorf("headers: %s is reserved", name)
		}
	}
	return c.Post.Validate()
}
