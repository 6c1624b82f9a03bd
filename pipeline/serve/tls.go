package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// tls returns the listener's TLS configuration; nil without a certificate. Its
// files are read again when they change.
func (c Config) tls() (*tls.Config, error) {
	if c.CertFile == "" {
		return nil, nil
	}
	out, err := dial.TLS{Cert: c.CertFile, Key: c.KeyFile, CA: c.ClientCAFile}.Server()
	if err != nil {
		return nil, fmt.Errorf("serve: web.tls: %w", err)
	}
	own, err := out.GetCertificate(nil)
	if err != nil {
		return nil, fmt.Errorf("serve: web.tls: %w", err)
	}
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("serve: web.tls: %s: %w", c.CertFile, err)
	}
	if time.Now().After(leaf.NotAfter) {
		return nil, fmt.Errorf("serve: web.tls: %s: the certificate expired on %s", c.CertFile, leaf.NotAfter.Format(time.RFC3339))
	}
	return out, nil
}
