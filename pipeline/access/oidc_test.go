package access

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issuer is an identity provider over HTTP.
type issuer struct {
	*httptest.Server
	t     *testing.T
	key   *rsa.PrivateKey
	now   time.Time
	forge func(claims map[string]any, header map[string]any) // what it states beyond the truth
	codes map[string]url.Values                              // requests for a login, by code
}

func newIssuer(t *testing.T, now time.Time) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key, now: now, codes: map[string]url.Values{}, forge: func(map[string]any, map[string]any) {}}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, x any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(x)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/login", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())}}})
	})
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		code := rand.Text()
		i.codes[code] = r.URL.Query()
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?code="+code+"&state="+url.QueryEscape(r.URL.Query().Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		q, ok := i.codes[r.PostForm.Get("code")]
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") {
			w.WriteHeader(http.StatusBadRequest)
			answer(w, map[string]any{"error": "invalid_grant"})
			return
		}
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": i.token(q.Get("nonce"))})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// token signs an ID token of ann, a member of sre.
func (i *issuer) token(nonce string) string {
	claims := map[string]any{"iss": i.URL, "aud": "quintet", "sub": "42", "preferred_username": "ann", "groups": []string{"all", "sre"},
		"exp": i.now.Add(5 * time.Minute).Unix(), "iat": i.now.Unix(), "nonce": nonce}
	header := map[string]any{"alg": "RS256", "kid": "1", "typ": "JWT"}
	i.forge(claims, header)
	part := func(x any) string {
		b, err := json.Marshal(x)
		if err != nil {
			i.t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	text := part(header) + "." + part(claims)
	if header["alg"] == "none" {
		return text + "."
	}
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		i.t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

// site is a server whose users log in at an issuer, and a browser.
type site struct {
	*httptest.Server
	book    *Book
	browser *http.Client
	now     time.Time
	refused error
}

func newSite(t *testing.T, i *issuer) *site {
	t.Helper()
	s := &site{now: i.now}
	mux := http.NewServeMux()
	mux.HandleFunc("/-/login", func(w http.ResponseWriter, r *http.Request) {
		if err := s.book.Login(w, r, r.URL.Query().Get("to")); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc(CallbackPath, func(w http.ResponseWriter, r *http.Request) {
		if _, s.refused = s.book.Callback(w, r); s.refused != nil {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		who, err := s.book.Admit(r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(who.Name + " " + string(who.Role) + " " + who.With + " " + r.URL.Path))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	s.book, err = Open(Config{Now: func() time.Time { return s.now }, OIDC: OIDC{Issuer: i.URL, ClientID: "quintet", SecretFile: secret, Redirect: s.URL + CallbackPath,
		Groups: map[string]Role{"sre": Operator, "all": Viewer, "root": Admin}}})
	if err != nil {
		t.Fatal(err)
	}
	s.clear(t)
	return s
}

// clear removes the browser's cookies.
func (s *site) clear(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.browser = &http.Client{Jar: jar}
}

func (s *site) get(t *testing.T, path string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) > 0 {
		r.Header.Set("Authorization", header[0])
	}
	resp, err := s.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b := make([]byte, 200)
	n, _ := resp.Body.Read(b)
	return resp.StatusCode, string(b[:n])
}

// TestOIDCLogin: a user logs in at the provider, has the role of the group that may
// most, and is asked again when the session is over.
func TestOIDCLogin(t *testing.T) {
	i := newIssuer(t, time.Unix(1_800_000_000, 0))
	s := newSite(t, i)
	if code, _ := s.get(t, "/jobs"); code != http.StatusUnauthorized {
		t.Errorf("before the login: %d", code)
	}
	if code, body := s.get(t, "/-/login?to=/jobs"); code != http.StatusOK || body != "ann operator oidc /jobs" {
		t.Errorf("login: %d %q, %v", code, body, s.refused)
	}
	if code, body := s.get(t, "/"); code != http.StatusOK || body != "ann operator oidc /" {
		t.Errorf("with the session: %d %q", code, body)
	}
	s.now = s.now.Add(61 * time.Minute)
	if code, _ := s.get(t, "/"); code != http.StatusUnauthorized {
		t.Errorf("after the session: %d", code)
	}
	s.now = i.now
	for _, to := range []string{"//evil.example/", "https://evil.example/", `/\evil.example`} {
		if code, body := s.get(t, "/-/login?to="+url.QueryEscape(to)); code != http.StatusOK || !strings.HasSuffix(body, " /") {
			t.Errorf("to %s: %d %q", to, code, body)
		}
	}
}

// TestOIDCRefuses: tokens that the provider did not sign for this server, of now, for
// this login and of a group with a role, open nothing.
func TestOIDCRefuses(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func(i *issuer, claims, header map[string]any){
		"another audience":  func(_ *issuer, c, _ map[string]any) { c["aud"] = "grafana" },
		"another issuer":    func(_ *issuer, c, _ map[string]any) { c["iss"] = "https://evil.example" },
		"expired":           func(i *issuer, c, _ map[string]any) { c["exp"] = i.now.Add(-time.Second).Unix() },
		"another login":     func(_ *issuer, c, _ map[string]any) { c["nonce"] = "x" },
		"no group":          func(_ *issuer, c, _ map[string]any) { delete(c, "groups") },
		"groups of another": func(_ *issuer, c, _ map[string]any) { c["groups"] = []string{"guests"} },
		"no signature":      func(_ *issuer, _, h map[string]any) { h["alg"] = "none" },
		"another key":       func(i *issuer, _, _ map[string]any) { i.key = other },
		"a name that lies":  func(_ *issuer, c, _ map[string]any) { c["preferred_username"] = "ann\nadmin" },
	} {
		i := newIssuer(t, time.Unix(1_800_000_000, 0))
		s := newSite(t, i)
		i.forge = func(c, h map[string]any) { forge(i, c, h) }
		if code, _ := s.get(t, "/-/login"); code != http.StatusForbidden || !errors.Is(s.refused, ErrRefused) {
			t.Errorf("%s: %d, %v", name, code, s.refused)
		}
		if code, _ := s.get(t, "/"); code != http.StatusUnauthorized {
			t.Errorf("%s: admitted", name)
		}
		if name != "another login" { // the nonce is of a browser's login
			if code, _ := s.get(t, "/", "Bearer "+i.token("")); code != http.StatusUnauthorized {
				t.Errorf("%s: admitted as a bearer token", name)
			}
		}
	}
}

// TestOIDCCallbackCountsOnce: an answer of the provider that belongs to another login,
// comes again or comes late opens nothing, nor does a cookie of other keys.
func TestOIDCCallbackCountsOnce(t *testing.T) {
	i := newIssuer(t, time.Unix(1_800_000_000, 0))
	s := newSite(t, i)
	var answers []string
	s.browser.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == CallbackPath {
			answers = append(answers, r.URL.RequestURI())
			return http.ErrUseLastResponse
		}
		return nil
	}
	s.get(t, "/-/login")
	s.get(t, "/-/login")
	if len(answers) != 2 {
		t.Fatalf("%d answers", len(answers))
	}
	s.browser.CheckRedirect = nil
	if code, _ := s.get(t, answers[0]); code != http.StatusForbidden {
		t.Errorf("the answer of another login: %d", code)
	}
	if code, _ := s.get(t, answers[1]); code != http.StatusForbidden {
		t.Errorf("a second answer to one login: %d", code)
	}
	s.get(t, "/-/login")
	kept := s.browser.Jar.Cookies(mustParse(t, s.URL))
	again := newSite(t, i) // another process has other keys
	again.browser.Jar.SetCookies(mustParse(t, again.URL), kept)
	if code, _ := again.get(t, "/"); code != http.StatusUnauthorized {
		t.Errorf("a session of another process: %d", code)
	}
	if code, body := s.get(t, "/", "Bearer "+i.token("")); code != http.StatusOK || body != "ann operator oidc /" {
		t.Errorf("an ID token as a bearer token: %d %q", code, body)
	}
}

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestOpenOIDCWithoutItsProvider: a provider that is away costs logins, not the start.
func TestOpenOIDCWithoutItsProvider(t *testing.T) {
	i := newIssuer(t, time.Unix(1_800_000_000, 0))
	s := newSite(t, i)
	i.Close()
	w := httptest.NewRecorder()
	if err := s.book.Login(w, httptest.NewRequest(http.MethodGet, "/-/login", nil), "/"); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}

// TestValidateOIDC: the required settings, and those that would open the site to
// any user.
func TestValidateOIDC(t *testing.T) {
	good := OIDC{Issuer: "https://id.example", ClientID: "quintet", Redirect: "https://quintet.example" + CallbackPath, Groups: map[string]Role{"sre": Operator}}
	for want, change := range map[string]func(*OIDC){
		"":                    func(*OIDC) {},
		"issuer":              func(o *OIDC) { o.Issuer = "http://id.example" },
		"redirect":            func(o *OIDC) { o.Redirect = "https://quintet.example/" },
		"client_id: required": func(o *OIDC) { o.ClientID = "" },
		"groups: required":    func(o *OIDC) { o.Groups = nil },
		"groups: sre":         func(o *OIDC) { o.Groups = map[string]Role{"sre": "god"} },
		"session":             func(o *OIDC) { o.Session = 24 * time.Hour },
	} {
		o := good
		change(&o)
		err := Config{OIDC: o}.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
