package prometheus

import (
	"fmt"
	"io"
	"net/http"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// maxAnswer is how much a server may answer to one question, in bytes.
const maxAnswer = 512 << 20

// asker adds credentials to requests, and stops reading an answer without an end.
type asker struct {
	user  dial.BasicAuth
	token dial.Authorization
}

// RoundTrip implements http.RoundTripper.
func (a asker) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if err := dial.Authorize(req, a.user, dial.Authorization{}); err != nil {
		return nil, err
	}
	if a.token.CredentialsFile != "" {
		if err := dial.Authorize(req, dial.BasicAuth{}, a.token); err != nil {
			return nil, err
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Body = &bounded{resp.Body, maxAnswer}
	}
	return resp, err
}

// bounded ends an answer that is too long with an error that names the remedy.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("an answer of more than %d MiB: ask with a shorter --window, or narrower with --match", int64(maxAnswer>>20))
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
