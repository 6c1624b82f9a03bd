package bus

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"

	"github.com/nats-io/nats.go"
)

var (
	jwtBlock         = regexp.MustCompile(`(?s)-----BEGIN NATS USER JWT-----\s+([A-Za-z0-9_\-.=]+)\s+-+END NATS USER JWT-+`)
	certificateBegin = []byte("-----BEGIN CERTIFICATE-----")
)

const (
	maxCredentials = 1 << 20
	maxKey         = 100
)

// securityOptions turns the content of a credentials file into options of a
// connection.
func securityOptions(credentials []byte) ([]nats.Option, error) {
	var opts []nats.Option
	roots, err := authorities(credentials)
	if err != nil {
		return nil, err
	}
	if roots != nil {
		opts = append(opts, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}))
	}
	if len(credentials) == 0 {
		return opts, nil
	}
	user, err := userOf(credentials)
	if err != nil {
		return nil, err
	}
	// A private inbox: no other user has permissions on it.
	return append(opts, nats.UserCredentialBytes(credentials), nats.CustomInboxPrefix("_INBOX."+user)), nil
}

// CheckCredentials returns an error for the content of a credentials file that no
// connection can be made with.
func CheckCredentials(credentials []byte) error {
	first, _ := splitCredentials(credentials)
	if _, err := securityOptions(first); err != nil {
		return err
	}
	_, err := newSigner(first)
	return err
}

// UserOf returns the public key of the user in a credentials file, which its inboxes
// are named by; "" if there is none.
func UserOf(credentials []byte) string {
	user, err := userOf(credentials)
	if err != nil {
		return ""
	}
	return user
}

// userOf reads the public key of the user out of a credentials file.
func userOf(credentials []byte) (string, error) {
	if len(credentials) > maxCredentials {
		return "", fmt.Errorf("credentials: %d bytes, at most %d", len(credentials), maxCredentials)
	}
	m := jwtBlock.FindSubmatch(credentials)
	if m == nil {
		return "", errors.New("credentials: no block NATS USER JWT")
	}
	claims, err := tokenClaims(string(m[1]))
	if err != nil {
		return "", fmt.Errorf("credentials: %w", err)
	}
	if !alphanumeric(claims.Subject) {
		return "", fmt.Errorf("credentials: token: subject %.60q is no public key", claims.Subject)
	}
	return claims.Subject, nil
}

func alphanumeric(s string) bool {
	for i := range len(s) {
		if !plain(s[i]) || s[i] == '-' {
			return false
		}
	}
	return s != "" && len(s) <= maxKey
}

// authorities reads the certificates in a credentials file; nil if there are none.
func authorities(credentials []byte) (*x509.CertPool, error) {
	at := bytes.Index(credentials, certificateBegin)
	if at < 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	n := 0
	for rest := credentials[at:]; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("credentials: certificate %d: %w", n+1, err)
		}
		pool.AddCert(cert)
	}
	if n == 0 {
		return nil, errors.New("credentials: a certificate that cannot be read")
	}
	return pool, nil
}
