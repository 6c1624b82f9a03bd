package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// TLS defines the identity required of the peer and our own. Files are read again
// when they have changed, so that a rotated certificate needs no restart.
type TLS struct {
	// CA is a file of certificates that the peer's certificate must be signed by;
	// empty is the system's.
	CA string `yaml:"ca_file" was:"ca"`
	// Cert is a file of our certificate, and Key of its key; empty is none.
	Cert string `yaml:"cert_file" was:"cert"`
	// Key is a file of the key of our certificate.
	Key string `yaml:"key_file" was:"key"`
	// ServerName is the name that the peer's certificate must have, if not the host
	// that is connected to.
	ServerName string `yaml:"server_name"`
	// Unverified accepts any certificate: BMCs ship with one that no CA signed.
	Unverified bool `yaml:"insecure_skip_verify" was:"unverified"`
}

// Validate reports keys that exclude or require one another. It does not read files.
func (t TLS) Validate() error {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("cert_file and key_file: each requires the other")
	case t.Unverified && t.CA != "":
		return errors.New("insecure_skip_verify and ca_file: mutually exclusive")
	}
	return nil
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

// keeper holds what the files contained when they were last read.
type keeper struct {
	tls TLS

	mu    sync.Mutex
	caAt  time.Time
	pool  *x509.CertPool
	ownAt time.Time
	own   *tls.Certificate
}

// errNoCertificate means that a file contains no certificate.
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
