package access

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	loginCookie, sessionCookie = "quintet-login", "quintet-session"
	// loginTime is how long a user may take at the provider.
	loginTime = 10 * time.Minute
	// providerTimeout is how long a provider may take for an answer.
	providerTimeout = 10 * time.Second
	maxCookie       = 4 << 10
)

// attempt is a login under way, sealed in the user's browser.
type attempt struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	To       string    `json:"t"` // path to return to
	Expires  time.Time `json:"e"`
}

// session is a user that has logged in, sealed in the user's browser.
type session struct {
	Name    string    `json:"n"`
	Role    Role      `json:"r"`
	Expires time.Time `json:"e"`
}

// LogsIn reports whether users can be sent to an identity provider.
func (b *Book) LogsIn() bool { return b.provider != nil }

// Login sends a user to the identity provider; to is the path to return to.
func (b *Book) Login(w http.ResponseWriter, r *http.Request, to string) error {
	ctx, cancel := context.WithTimeout(r.Context(), providerTimeout)
	defer cancel()
	known, err := b.provider.discover(ctx)
	if err != nil {
		return fmt.Errorf("the identity provider does not answer: %w", err)
	}
	c, err := b.provider.exchange(known)
	if err != nil {
		return err
	}
	a := attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: local(to), Expires: b.cfg.Now().Add(loginTime)}
	if err := b.set(w, loginCookie, a, loginTime); err != nil {
		return err
	}
	http.Redirect(w, r, c.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), http.StatusFound)
	return nil
}

// local returns a path of this server: what begins like another host is the page.
func local(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}

// Callback completes a login at the identity provider. The error is ErrRefused,
// with the reason, for a user without access.
func (b *Book) Callback(w http.ResponseWriter, r *http.Request) (Principal, error) {
	from, now := addressOf(r.RemoteAddr), b.cfg.Now()
	if _, wait := b.begin(from, now); wait > 0 {
		return Principal{}, &ThrottledError{wait}
	}
	who, to, err := b.callback(w, r)
	b.end(from, now, err)
	if err == nil {
		http.Redirect(w, r, to, http.StatusFound)
	}
	return who, err
}

func (b *Book) callback(w http.ResponseWriter, r *http.Request) (who Principal, to string, err error) {
	var a attempt
	if err := b.get(r, loginCookie, &a); err != nil || !b.cfg.Now().Before(a.Expires) {
		return who, "", fmt.Errorf("%w: the login took too long or is of another browser: begin again at /-/login", ErrRefused)
	}
	_ = b.set(w, loginCookie, attempt{}, -1) // it counts once
	q := r.URL.Query()
	switch {
	case q.Get("state") != a.State:
		return who, "", fmt.Errorf("%w: the answer is of another login", ErrRefused)
	case q.Get("error") != "":
		return who, "", fmt.Errorf("%w: the identity provider answered %.100q", ErrRefused, q.Get("error"))
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), b.provider.client), providerTimeout)
	defer cancel()
	raw, err := b.redeem(ctx, q, a)
	if err != nil {
		return who, "", err
	}
	who, err = b.provider.verify(ctx, raw, a.Nonce)
	if err != nil {
		return who, "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	life := b.provider.cfg.Session
	return who, a.To, b.set(w, sessionCookie, session{who.Name, who.Role, b.cfg.Now().Add(life)}, life)
}

// redeem exchanges the code of an answer for an ID token.
func (b *Book) redeem(ctx context.Context, q url.Values, a attempt) (string, error) {
	known, err := b.provider.discover(ctx)
	if err != nil {
		return "", fmt.Errorf("the identity provider does not answer: %w", err)
	}
	c, err := b.provider.exchange(known)
	if err != nil {
		return "", err
	}
	token, err := c.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(a.Verifier))
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &answered): // its body may hold what is secret
		return "", fmt.Errorf("%w: the identity provider refused the code: %.100q", ErrRefused, answered.ErrorCode)
	case err != nil:
		return "", fmt.Errorf("the identity provider does not answer: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return "", fmt.Errorf("%w: the identity provider sent no ID token", ErrRefused)
	}
	return raw, nil
}

// session returns the user of a request's session, if it has a valid one.
func (b *Book) session(r *http.Request) (Principal, bool) {
	var s session
	if b.provider == nil || b.get(r, sessionCookie, &s) != nil || !b.cfg.Now().Before(s.Expires) {
		return Principal{}, false
	}
	return Principal{s.Name, s.Role, "oidc"}, true
}

// cookie returns the name of a cookie: with https, one that only this host can have
// set.
func (b *Book) cookie(name string) (string, bool) {
	if strings.HasPrefix(b.provider.cfg.Redirect, "https:") {
		return "__Host-" + name, true
	}
	return name, false
}

// set seals x into a cookie with the key of this process.
func (b *Book) set(w http.ResponseWriter, name string, x any, life time.Duration) error {
	body, err := json.Marshal(x)
	if err != nil {
		return err
	}
	seal, err := b.seal()
	if err != nil {
		return err
	}
	called, https := b.cookie(name)
	http.SetCookie(w, &http.Cookie{Name: called, Value: base64.RawURLEncoding.EncodeToString(seal.Seal(nil, nil, body, []byte(name))), Path: "/",
		MaxAge: int(life.Seconds()), Secure: https, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	return nil
}

// get opens what set sealed.
func (b *Book) get(r *http.Request, name string, into any) error {
	called, _ := b.cookie(name)
	c, err := r.Cookie(called)
	if err != nil || len(c.Value) > maxCookie {
		return http.ErrNoCookie
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return err
	}
	seal, err := b.seal()
	if err != nil {
		return err
	}
	body, err := seal.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (b *Book) seal() (cipher.AEAD, error) {
	block, err := aes.NewCipher(b.key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block) // before what it seals
}
