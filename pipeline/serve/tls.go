package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookAtCertificate is how often a certificate's files are looked at.
const lookAtCertificate = 10 * time.Second

// pair is a certificate with its key, read again when its files change.
type pair struct {
	cert, key string
	now       func() time.Time

	mu     sync.Mutex
	held   *tls.Certificate
	at     [2]time.Time // when the files changed
	looked time.Time
}

// tls returns what the listener shows; nil without a certificate.
func (c Config) tls() (*tls.Config, error) {
	if c.CertFile == "" {
		return nil, nil
	}
	p := &pair{cert: c.CertFile, key: c.KeyFile, now: time.Now}
	if err := p.read(); err != nil {
		return nil, fmt.Errorf("serve: web.tls: %w", err)
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.get(), nil }}
	if c.ClientCAFile == "" {
		return out, nil
	}
	pem, err := os.ReadFile(c.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("serve: web.tls: client_ca: %w", err)
	}
	out.ClientCAs, out.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !out.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("serve: web.tls: client_ca: %s: no certificate in it", c.ClientCAFile)
	}
	return out, nil
}

// get returns the certificate. One that cannot be read leaves the one before in force:
// whoever renews it may be halfway.
func (p *pair) get() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.looked) >= lookAtCertificate {
		p.looked = now
		if p.changed() != p.at {
			_ = p.read()
		}
	}
	return p.held
}

// changed returns when the files changed; zero where one is missing.
func (p *pair) changed() (at [2]time.Time) {
	for i, path := range []string{p.cert, p.key} {
		if info, err := os.Stat(path); err == nil {
			at[i] = info.ModTime()
		}
	}
	return at
}

func (p *pair) read() error {
	at := p.changed()
	pair, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return err
	}
	if p.held == nil && pair.Leaf != nil && p.now().After(pair.Leaf.NotAfter) {
		return errors.New(p.cert + ": the certificate expired on " + pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	p.held, p.at = &pair, at
	return nil
}
