package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Headers of a revision; the last two of a signed one.
const (
	digestHeader    = "Quintet-Digest"    // SHA-256 of its content, base64url
	writerHeader    = "Quintet-Writer"    // the token of the user that wrote it
	signatureHeader = "Quintet-Signature" // of its subject and content, base64url
)

// Tags of a user's token. They are compared in lower case.
const (
	// SignsTag is in every token that this version issues: the site's streams of
	// revisions are signed.
	SignsTag = "quintet-signs"
	// WritesIncidentsTag and WritesAlertsTag allow a user to sign revisions.
	WritesIncidentsTag = "quintet-writes-incidents"
	WritesAlertsTag    = "quintet-writes-alerts"
)

const maxWriters = 4096 // verified tokens that are remembered

// seedBlock finds the key in a credentials file.
var seedBlock = regexp.MustCompile(`(?s)-----BEGIN USER NKEY SEED-----\s+(SU[A-Z2-7]{56})\s+-+END USER NKEY SEED-+`)

// claims are the parts of a user's token that matter here.
type claims struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	NATS    struct {
		Tags []string `json:"tags"`
	} `json:"nats"`
}

// signer signs revisions with the key of this connection's user, and verifies that
// a revision was signed by a user of the same account that may write them.
type signer struct {
	account string // public key of the account that issued this connection's token
	token   string
	key     nkeys.KeyPair

	mu      sync.Mutex
	writers map[string]claims // verified tokens
}

// newSigner returns nil without an error if revisions are not signed: without
// credentials, and with those of an external NATS.
func newSigner(credentials []byte) (*signer, error) {
	block := jwtBlock.FindSubmatch(credentials)
	if block == nil {
		return nil, nil
	}
	token := string(block[1])
	c, err := tokenClaims(token)
	if err != nil {
		return nil, err
	}
	seed := seedBlock.FindSubmatch(credentials)
	if !slices.Contains(c.NATS.Tags, SignsTag) || seed == nil {
		return nil, nil
	}
	key, err := nkeys.FromSeed(seed[1])
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return &signer{account: c.Issuer, token: token, key: key, writers: map[string]claims{}}, nil
}

// tokenClaims decodes a token without verifying it.
func tokenClaims(token string) (c claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, fmt.Errorf("token of %d parts, want 3", len(parts))
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, fmt.Errorf("token: %w", err)
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return claims{}, fmt.Errorf("token: %w", err)
	}
	return c, nil
}

// signed returns the bytes that a signature covers: an entry that is copied to
// another subject is not signed any more.
func signed(subject string, data []byte) []byte {
	return append(append([]byte(subject), '\n'), data...)
}

// message returns the message of a revision, signed where s is not nil.
func (s *signer) message(subject string, data []byte) (*nats.Msg, error) {
	m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{digestHeader: []string{digestOf(data)}}}
	if s == nil {
		return m, nil
	}
	sig, err := s.key.Sign(signed(subject, data))
	if err != nil {
		return nil, err
	}
	m.Header[writerHeader], m.Header[signatureHeader] = []string{s.token}, []string{base64.RawURLEncoding.EncodeToString(sig)}
	return m, nil
}

// digestOf returns the digest of a revision's content.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// errSignature means that this content was not signed by a user with permission to
// write.
var errSignature = errors.New("its signature is wrong")

// errDigest means that a revision is not what was published.
var errDigest = errors.New("its content does not match its digest")

// whole returns errDigest for a revision whose content does not match its digest.
// Earlier versions published no digest.
func whole(d delivery) error {
	if want := d.header.Get(digestHeader); want != "" && want != digestOf(d.data) {
		return errDigest
	}
	return nil
}

// verify returns why a message was not written by a user with a tag; nil where s is
// nil.
func (s *signer) verify(tag, subject string, h nats.Header, data []byte) error {
	if s == nil {
		return nil
	}
	token := h.Get(writerHeader)
	if token == "" {
		return errors.New("it is not signed")
	}
	c, err := s.writer(token)
	if err != nil {
		return err
	}
	if !slices.Contains(c.NATS.Tags, tag) {
		return fmt.Errorf("its writer %.60s may not write here", c.Subject)
	}
	key, err := nkeys.FromPublicKey(c.Subject)
	if err != nil {
		return fmt.Errorf("writer: %w", err)
	}
	sig, err := base64.RawURLEncoding.DecodeString(h.Get(signatureHeader))
	if err != nil || key.Verify(signed(subject, data), sig) != nil {
		return errSignature
	}
	return nil
}

// writer returns the claims of a token that this site's account signed.
func (s *signer) writer(token string) (claims, error) {
	s.mu.Lock()
	c, known := s.writers[token]
	s.mu.Unlock()
	if known {
		return c, nil
	}
	c, err := tokenClaims(token)
	if err != nil {
		return claims{}, err
	}
	account, err := nkeys.FromPublicKey(s.account)
	if err != nil {
		return claims{}, err
	}
	at := strings.LastIndexByte(token, '.')
	sig, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if c.Issuer != s.account || err != nil || account.Verify([]byte(token[:at]), sig) != nil {
		return claims{}, errors.New("its writer's token is not of this site")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.writers) >= maxWriters {
		clear(s.writers)
	}
	s.writers[token] = c
	return c, nil
}

// splitCredentials separates the user that answers questions (the second one of a
// credentials file) from the first one. The certificates belong to both.
func splitCredentials(credentials []byte) (first, answering []byte) {
	begin := []byte("-----BEGIN NATS USER JWT-----")
	at := bytes.Index(credentials, begin)
	if at < 0 {
		return credentials, nil
	}
	next := bytes.Index(credentials[at+len(begin):], begin)
	if next < 0 {
		return credentials, nil
	}
	at += len(begin) + next
	first, answering = slices.Clone(credentials[:at]), credentials[at:]
	if certificates := bytes.Index(answering, certificateBegin); certificates >= 0 {
		first = append(first, answering[certificates:]...)
	}
	return first, answering
}
