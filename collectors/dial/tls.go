package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/entry"
)

// TLS says who the other side must be and who we are. Files are read again when
// they have changed, so that a rotated certificate needs no restart.
type TLS struct {
	CA   string // file of certificates that the other side's must follow from; "" the system's
	Cert string // file of our certificate, and Key of its key; "" none
	Key  string
	// ServerName is the name that the certificate must have, if not the host
	// that is dialled.
	ServerName string
	// Unverified takes any certificate: BMCs come with one that nobody signed.
	Unverified bool
}

// DecodeTLS reads the keys ca, cert, key, server_name and unverified.
func DecodeTLS(r *entry.Reader, n *yaml.Node) TLS {
	var t TLS
	r.Entry(n,
		entry.Key{Name: "ca", Read: func(v *yaml.Node) { t.CA = r.Text(v, "tls: ca") }},
		entry.Key{Name: "cert", Read: func(v *yaml.Node) { t.Cert = r.Text(v, "tls: cert") }},
		entry.Key{Name: "key", Read: func(v *yaml.Node) { t.Key = r.Text(v, "tls: key") }},
		entry.Key{Name: "server_name", Read: func(v *yaml.Node) { t.ServerName = r.Text(v, "tls: server_name") }},
		entry.Key{Name: "unverified", Read: func(v *yaml.Node) { t.Unverified = r.Flag(v, "tls: unverified") }},
	)
	if (t.Cert == "") != (t.Key == "") {
		r.Fail(n, "tls: cert and key: one without the other")
	}
	if t.Unverified && t.CA != "" {
		r.Fail(n, "tls: unverified and ca: mutually exclusive")
	}
	return t
}

// Config returns the settings of a client that renews what its files hold. It
// fails where a file cannot be read now.
func (t TLS) Config() (*tls.Config, error) {
	k := &keeper{tls: t}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	switch {
	case t.Unverified:
		c.InsecureSkipVerify = true
	case t.CA != "":
		if _, err := k.roots(); err != nil {
			return nil, err
		}
		// The standard library checks against roots that are fixed when the
		// settings are made; ours are read again, so the check is made here.
		c.InsecureSkipVerify = true
		c.VerifyConnection = k.verify
	}
	if t.Cert != "" {
		if _, err := k.certificate(nil); err != nil {
			return nil, err
		}
		c.GetClientCertificate = k.certificate
	}
	return c, nil
}

// Server returns the settings of a server that renews what its files hold: Cert
// and Key are its own; where there is a CA, who dials must show a certificate
// that follows from it. It fails where a file cannot be read now.
func (t TLS) Server() (*tls.Config, error) {
	k := &keeper{tls: t}
	if _, err := k.certificate(nil); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.certificate(nil) }}
	if t.CA != "" {
		if _, err := k.roots(); err != nil {
			return nil, err
		}
		c.ClientAuth = tls.RequireAnyClientCert
		c.VerifyConnection = k.verifyClient
	}
	return c, nil
}

// keeper holds what the files held when they were last read.
type keeper struct {
	tls TLS

	mu    sync.Mutex
	caAt  time.Time
	pool  *x509.CertPool
	ownAt time.Time
	own   *tls.Certificate
}

// errNoCertificate says that a file has none.
var errNoCertificate = errors.New("no certificate in it")

func (k *keeper) roots() (*x509.CertPool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.tls.CA)
	if err != nil {
		return k.pool, err
	}
	if k.pool != nil && info.ModTime().Equal(k.caAt) {
		return k.pool, nil
	}
	b, err := os.ReadFile(k.tls.CA)
	if err != nil {
		return k.pool, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return k.pool, fmt.Errorf("%s: %w", k.tls.CA, errNoCertificate)
	}
	k.pool, k.caAt = pool, info.ModTime()
	return pool, nil
}

// verify holds the other side's certificate against the roots as they are now;
// while a file is being written, against the last that could be read.
func (k *keeper) verify(s tls.ConnectionState) error {
	return k.follows(s, x509.VerifyOptions{DNSName: s.ServerName})
}

// verifyClient holds a client's certificate against the roots.
func (k *keeper) verifyClient(s tls.ConnectionState) error {
	return k.follows(s, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func (k *keeper) follows(s tls.ConnectionState, o x509.VerifyOptions) error {
	roots, err := k.roots()
	if roots == nil {
		return err
	}
	o.Roots, o.Intermediates = roots, x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err = s.PeerCertificates[0].Verify(o)
	return err
}

func (k *keeper) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.tls.Cert)
	if err == nil && (k.own == nil || !info.ModTime().Equal(k.ownAt)) {
		var c tls.Certificate
		if c, err = tls.LoadX509KeyPair(k.tls.Cert, k.tls.Key); err == nil {
			k.own, k.ownAt = &c, info.ModTime()
		}
	}
	if k.own == nil {
		return nil, err
	}
	return k.own, nil
}
