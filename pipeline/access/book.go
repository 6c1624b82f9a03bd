package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

const (
	// hashing is how many passwords are compared at a time: a comparison takes a core
	// for a twentieth of a second, on purpose.
	hashing = 2
	// loginTimeout is how long a login may wait for its turn.
	loginTimeout = 5 * time.Second
	// lookAgain is how long a removed user may still be admitted.
	lookAgain = 2 * time.Second
)

// Why a request is not admitted.
var (
	// ErrNoCredentials: the request has no credentials.
	ErrNoCredentials = errors.New("log in with a name and a password, or a bearer token")
	// ErrRefused: the name, the password or the token is wrong, or expired.
	ErrRefused = errors.New("the name, the password or the token is wrong or expired")
)

// ThrottledError means that too many logins from an address failed.
type ThrottledError struct {
	Wait time.Duration // before the next
}

// Error implements error.
func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many failed logins from this address: wait %v", e.Wait.Round(time.Second))
}

// Principal is who a request comes from.
type Principal struct {
	Name string
	Role Role
	// With is how the user was authenticated: password, token, proxy or oidc; empty
	// if no login is required.
	With string
}

// Book admits requests. It is safe for concurrent use.
type Book struct {
	cfg     Config
	key     [32]byte // of this process: what is remembered is of no use elsewhere
	unknown credential
	slots   chan struct{}
	// provider authenticates users; nil where none is configured.
	provider *provider

	mu       sync.Mutex
	list     *list
	looked   time.Time
	known    map[string][32]byte // the password last accepted, as a keyed hash
	throttle throttle
}

// Open reads the files of c. The error names every user that would be refused.
func Open(c Config) (*Book, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &Book{cfg: c, slots: make(chan struct{}, hashing), known: map[string][32]byte{}, throttle: throttle{map[netip.Prefix]*failures{}}, looked: c.Now()}
	if _, err := rand.Read(b.key[:]); err != nil {
		return nil, err
	}
	var wrong, err error
	b.provider, wrong = openProvider(c.OIDC, c.Now)
	b.list, err = c.load(b.key[:])
	if err = errors.Join(wrong, err); err != nil || !c.Any() {
		return b, err
	}
	b.unknown, err = unknown()
	return b, err
}

// Required reports whether every user must log in.
func (b *Book) Required() bool { return b.cfg.Any() }

// Admit returns who a request comes from. The error is ErrNoCredentials, ErrRefused or a
// *ThrottledError.
func (b *Book) Admit(r *http.Request) (Principal, error) {
	if !b.Required() {
		return Principal{}, nil
	}
	if p, named, err := b.proxied(r); named {
		return p, err
	}
	if r.Header.Get("Authorization") == "" {
		if p, ok := b.session(r); ok {
			return p, nil
		}
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	name, password, basic := r.BasicAuth()
	bearer := !basic && strings.EqualFold(kind, "Bearer") && token != ""
	if !basic && !bearer {
		return Principal{}, ErrNoCredentials
	}
	from, now := addressOf(r.RemoteAddr), b.cfg.Now()
	l, wait := b.begin(from, now)
	if wait > 0 {
		return Principal{}, &ThrottledError{wait}
	}
	p, err := b.check(r.Context(), l, login{name, password, token, bearer})
	b.end(from, now, err)
	return p, err
}

// login is the credentials of a request: a token, or a name and a password.
type login struct {
	name, password, token string
	bearer                bool
}

func (b *Book) check(ctx context.Context, l *list, in login) (Principal, error) {
	var c credential
	ok, with := false, "password"
	if in.bearer {
		c, ok = l.byToken[keyed(b.key[:], in.token)]
		with = "token"
		if !ok && b.provider != nil && looksLikeJWT(in.token) {
			return b.idToken(ctx, in.token)
		}
	} else {
		var err error
		if c, ok, err = b.password(ctx, l, in.name, in.password); err != nil {
			return Principal{}, err
		}
	}
	if !ok || !c.expires.IsZero() && !b.cfg.Now().Before(c.expires) {
		return Principal{}, ErrRefused
	}
	return Principal{c.name, c.role, with}, nil
}

// idToken returns the user of an ID token of the provider.
func (b *Book) idToken(ctx context.Context, token string) (Principal, error) {
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	who, err := b.provider.verify(ctx, token, "")
	if err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return who, nil
}

// proxied returns the user that the trusted proxy names. From other addresses its
// header is ignored.
func (b *Book) proxied(r *http.Request) (p Principal, named bool, err error) {
	names := r.Header.Values(b.cfg.Proxy.Header)
	if b.cfg.Proxy.Header == "" || len(names) == 0 {
		return p, false, nil
	}
	from := addressOf(r.RemoteAddr).Addr()
	if a, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		from = a.Addr().Unmap().WithZone("")
	}
	if !slices.ContainsFunc(b.cfg.Proxy.From, func(x netip.Prefix) bool { return x.Contains(from) }) {
		return p, false, nil
	}
	if len(names) > 1 || checkName(names[0]) != nil {
		return p, true, ErrRefused
	}
	return Principal{names[0], b.cfg.roleOf(names[0]), "proxy"}, true, nil
}

// begin returns the users as their files are now, and how long an address must wait.
func (b *Book) begin(from netip.Prefix, now time.Time) (*list, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.looked) >= lookAgain {
		b.looked = now
		b.refresh()
	}
	return b.list, b.throttle.wait(from, now)
}

// refresh reads the files again if one changed.
func (b *Book) refresh() {
	if !b.list.changed() {
		return
	}
	l, err := b.cfg.load(b.key[:])
	if err != nil {
		warnUnread(b.cfg.Logger, err)
	}
	b.list, b.known = l, map[string][32]byte{}
}

func (b *Book) end(from netip.Prefix, now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.throttle.succeeded(from)
	case errors.Is(err, ErrRefused):
		b.throttle.failed(from, now)
	}
}

// password reports whether a password is the user's. The error is a *ThrottledError
// where too many others are compared.
func (b *Book) password(ctx context.Context, l *list, name, password string) (credential, bool, error) {
	c, known := l.byName[name]
	if !known {
		c = b.unknown
	}
	sum := keyed(b.key[:], password)
	if c.bcrypt == nil {
		return c, hmac.Equal(sum[:], c.plain[:]), nil
	}
	b.mu.Lock()
	last, remembered := b.known[name]
	b.mu.Unlock()
	if remembered && known && hmac.Equal(sum[:], last[:]) {
		return c, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return c, false, &ThrottledError{time.Second}
	}
	if bcrypt.CompareHashAndPassword(c.bcrypt, []byte(password)) != nil || !known {
		return c, false, nil
	}
	b.mu.Lock()
	if b.list == l { // else the user may have been removed meanwhile
		b.known[name] = sum
	}
	b.mu.Unlock()
	return c, true, nil
}
