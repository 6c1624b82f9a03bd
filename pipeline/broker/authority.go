package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/settings"
)

// More files below Dir/keys.
const (
	authorityFile    = "ca.crt"
	authorityKeyFile = "ca.key"
	serverFile       = "server.crt"
	serverKeyFile    = "server.key"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	serverLife    = 365 * 24 * time.Hour
	renewBefore   = 60 * 24 * time.Hour
	backdate      = time.Hour // other machines' clocks
)

// authority is the site's own certificate authority and the server certificate
// that it keeps fresh.
type authority struct {
	dir    string
	names  []string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	now    func() time.Time
	logger *slog.Logger

	mu     sync.Mutex
	server *tls.Certificate
}

// openAuthority reads the files below dir and creates missing ones. names are the
// server's host names and addresses.
func openAuthority(dir, site string, names []string, now func() time.Time) (*authority, error) {
	a := &authority{dir: dir, names: names, now: now, logger: slog.New(slog.DiscardHandler)}
	if err := a.establish(site); err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	if pair, err := readPair(dir, serverFile, serverKeyFile); err == nil {
		a.server = pair
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("authority: %w", err)
	}
	if _, err := a.certificate(); err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	return a, nil
}

// establish reads the authority or creates one if no certificate exists. A
// certificate without its key is an error: the enrolled processes trust it and
// would trust no other.
func (a *authority) establish(site string) error {
	if _, err := os.Stat(filepath.Join(a.dir, authorityFile)); errors.Is(err, fs.ErrNotExist) {
		return a.found(site)
	}
	pair, err := readPair(a.dir, authorityFile, authorityKeyFile)
	if err != nil {
		return err
	}
	return a.adopt(pair)
}

func (a *authority) adopt(pair *tls.Certificate) error {
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return fmt.Errorf("%s: not an authority with an ECDSA key", filepath.Join(a.dir, authorityFile))
	}
	a.cert, a.key = pair.Leaf, key
	return nil
}

// found makes a new authority.
func (a *authority) found(site string) error {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Quintet site " + site},
		NotAfter:              a.now().Add(authorityLife),
		IsCA:                  true,
		MaxPathLenZero:        true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	pair, err := a.issue(template, authorityFile, authorityKeyFile)
	if err != nil {
		return err
	}
	return a.adopt(pair)
}

// certificate returns the server's certificate and renews it when its end is
// near or it does not carry every name.
func (a *authority) certificate() (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.server != nil && a.fits(a.server.Leaf) {
		return a.server, nil
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: a.names[0]},
		NotAfter:    a.now().Add(serverLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range a.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	pair, err := a.issue(template, serverFile, serverKeyFile)
	if err != nil {
		if a.server != nil && a.now().Before(a.server.Leaf.NotAfter) {
			a.logger.Warn("the server's certificate could not be renewed", "until", a.server.Leaf.NotAfter, "error", err)
			return a.server, nil
		}
		return nil, err
	}
	a.server = pair
	return pair, nil
}

func (a *authority) fits(c *x509.Certificate) bool {
	return a.now().Add(renewBefore).Before(c.NotAfter) && c.CheckSignatureFrom(a.cert) == nil &&
		!slices.ContainsFunc(a.names, func(name string) bool { return c.VerifyHostname(name) != nil })
}

// issue signs a template with a new key, by the authority or, where there is
// none yet, by itself, and writes both.
func (a *authority) issue(template *x509.Certificate, certFile, keyFile string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	template.NotBefore = a.now().Add(-backdate)
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	// The key goes first: a certificate without one would be taken for whole.
	if err := settings.WriteFile(filepath.Join(a.dir, keyFile), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})); err != nil {
		return nil, err
	}
	if err := settings.WriteFile(filepath.Join(a.dir, certFile), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return nil, err
	}
	return readPair(a.dir, certFile, keyFile)
}

// readPair reads a certificate with its key.
func readPair(dir, certFile, keyFile string) (*tls.Certificate, error) {
	cert, err := os.ReadFile(filepath.Join(dir, certFile))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, certFile), err)
	}
	return &pair, nil
}

// config is the listener's TLS configuration: TLS 1.2 and later, a certificate that
// is renewed while it runs.
func (a *authority) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.certificate() },
	}
}

// serverNames lists the possible names of the server.
func serverNames(host string, more []string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if own, err := os.Hostname(); err == nil && hostName(own) {
		names = append(names, own)
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		names = append(names, host)
	}
	names = append(names, more...)
	slices.Sort(names)
	return slices.Compact(names)
}

// hostName reports whether a certificate can carry a name and be found valid for
// it: an address, or letters, digits, '.', '-' and '_'.
func hostName(name string) bool {
	if net.ParseIP(name) != nil {
		return true
	}
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	}
	c := x509.Certificate{DNSNames: []string{name}}
	return name != "" && !strings.ContainsFunc(name, odd) && c.VerifyHostname(name) == nil
}
