package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/quintet-dc/quintet/pipeline/access"
)

func TestOffLoopbackWantsTLSAndUsers(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string // of the error; none if empty
	}{
		{Config{Listen: "127.0.0.1:0"}, ""},
		{Config{Listen: "[::1]:0"}, ""},
		{Config{Listen: "localhost:0"}, ""},
		{Config{}, ""},
		{Config{Listen: ":8420"}, "neither TLS (web.tls) nor a user (web.users)"},
		{Config{Listen: "0.0.0.0:8420"}, "serve: listen: 0.0.0.0:8420: everybody who reaches this machine"},
		{Config{Listen: "192.0.2.1:8420", CertFile: "c", KeyFile: "k"}, "there are no users (web.users)"},
		{Config{Listen: "[::]:8420", Access: access.Config{Users: []access.User{{Name: "ann", PasswordHash: "x"}}}}, "there is no TLS (web.tls)"},
		{Config{Listen: ":8420", CertFile: "c", KeyFile: "k", Access: access.Config{Users: []access.User{{Name: "ann", PasswordHash: "x"}}}}, ""},
		{Config{Listen: "8420"}, "serve: listen: "},
		{Config{CertFile: "c"}, "both a certificate and its key"},
		{Config{Access: access.Config{Users: []access.User{{PasswordHash: "x"}}}}, "web.users[0]: name required"},
		{Config{Access: access.Config{Users: []access.User{{Name: "a", PasswordHash: "x"}, {Name: "a", PasswordHash: "x"}}}}, `web.users[1]: duplicate name "a"`},
		{Config{Access: access.Config{Users: []access.User{{Name: "a"}}}}, "want one of password_hash, password_file and token_file"},
	} {
		site := newSite()
		c.cfg.Bus, c.cfg.Incidents = site, site
		err := c.cfg.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
	if err := (Config{}).Validate(); err == nil {
		t.Error("no bus is no error")
	}
}

// TestRunRefusesToStart: before anything listens.
func TestRunRefusesToStart(t *testing.T) {
	err := Run(t.Context(), Config{Bus: newSite(), Incidents: newSite(), Listen: "0.0.0.0:0"})
	if err == nil || !strings.Contains(err.Error(), "on loopback, such as 127.0.0.1:8420, neither is needed") {
		t.Errorf("%v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Run(t.Context(), Config{Bus: newSite(), Incidents: newSite(), Listen: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("an address that is taken: %v", err)
	}
}

func TestOnlyNamesOfThisMachineAreAnswered(t *testing.T) {
	r := run(t, told(), Config{Hosts: []string{"Quintet.example"}})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8420": 200, "localhost.": 200, "127.0.0.1": 200, "127.1.2.3:99": 200, "[::1]": 200, "[::1]:8420": 200,
		"quintet.example": 200, "quintet.example:443": 200,
		"evil.example": 421, "evil.example:8420": 421, "127.0.0.1.evil.example": 421, "10.0.0.1": 421, "localhost.evil.example": 421,
	} {
		if resp, body := r.get("/api/v1/jobs", "Host: "+host); resp.StatusCode != want {
			t.Errorf("%s: %d %s", host, resp.StatusCode, body)
		}
	}
	if r.server.count.refused("host").Get() != 5 {
		t.Errorf("%d refusals counted", r.server.count.refused("host").Get())
	}
}

func TestAPageFromElsewhereChangesNothing(t *testing.T) {
	r := run(t, told(), Config{Reload: nil})
	const path = "/api/v1/incidents/inc-0000000000000002/acknowledge"
	r.until("notes", func() bool { _, why := r.server.notes.bucket.Open(); return why == nil })
	for _, c := range []struct {
		header string
		want   int
	}{
		{"X: y", 200}, // no browser
		{"Sec-Fetch-Site: same-origin", 200},
		{"Sec-Fetch-Site: none", 200},
		{"Origin: " + r.url, 200},
		{"Sec-Fetch-Site: cross-site", 403},
		{"Sec-Fetch-Site: same-site", 403},
		{"Origin: https://evil.example", 403},
		{"Origin: null", 403},
	} {
		if resp, body := r.request(http.MethodPost, path, "{}", c.header); resp.StatusCode != c.want {
			t.Errorf("%s: %d %s", c.header, resp.StatusCode, body)
		}
	}
	if resp, _ := r.get("/api/v1/jobs", "Sec-Fetch-Site: cross-site"); resp.StatusCode != 200 {
		t.Errorf("reading: %d", resp.StatusCode)
	}
}

func TestHeadersThatKeepABrowserIn(t *testing.T) {
	r := run(t, told(), Config{})
	for _, path := range []string{"/api/v1/jobs", "/nothing", "/-/healthy"} {
		resp, _ := r.get(path)
		for h, want := range map[string]string{"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff",
			"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := resp.Header.Get(h); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s: %q", path, h, got)
			}
		}
	}
}

// people are users whose passwords are kept in each way; all know "secret".
func people(t *testing.T) []access.User {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return []access.User{{Name: "ann", PasswordHash: string(hash)}, {Name: "ben", PasswordFile: write("ben", "secret\n")}, {Name: "cho", PasswordFile: write("cho", string(hash)+"\n")}}
}

func TestUsersLogIn(t *testing.T) {
	r := run(t, told(), Config{Access: access.Config{Users: people(t)}})
	ask := func(name, password string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/api/v1/jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			req.SetBasicAuth(name, password)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == 401 && !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Basic realm=") {
			t.Error("401 without a challenge")
		}
		return resp.StatusCode
	}
	for range 2 { // the second time it is remembered
		for _, name := range []string{"ann", "ben", "cho"} {
			if got := ask(name, "secret"); got != 200 {
				t.Errorf("%s: %d", name, got)
			}
			if got := ask(name, "guess"); got != 401 {
				t.Errorf("%s with a wrong password: %d", name, got)
			}
		}
	}
	if ask("", "") != 401 || ask("dan", "secret") != 401 || ask("ann", "") != 401 {
		t.Error("a stranger was let in")
	}
	for path, want := range map[string]int{"/-/healthy": 200, "/-/ready": 200, "/": 401, "/metrics": 401, "/api/v1/stream": 401, "/-/ready/": 401, "/-/reload": 401, "/incidents/x": 401} {
		if resp, _ := r.get(path); resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if resp, body := r.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000002/verdict", "{}"); resp.StatusCode != 401 {
		t.Errorf("a verdict by nobody: %d %s", resp.StatusCode, body)
	}
}

// TestWhoIsLoggedInSpeaks checks that a logged-in user cannot act under another
// name.
func TestWhoIsLoggedInSpeaks(t *testing.T) {
	r := run(t, told(), Config{Access: access.Config{Users: people(t)}})
	r.until("notes", func() bool { _, why := r.server.notes.bucket.Open(); return why == nil })
	_, body := r.request(http.MethodPost, "/api/v1/incidents/inc-0000000000000002/acknowledge", `{"by":"the boss"}`, "Authorization: Basic YmVuOnNlY3JldA==")
	if !strings.Contains(body, `"by":"ben"`) {
		t.Errorf("%s", body)
	}
}

// TestTLSWithUsers: the whole of it, as it is served off loopback.
func TestTLSWithUsers(t *testing.T) {
	cert, key, pool := certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, told(), Config{Listener: elsewhere{l}, CertFile: cert, KeyFile: key, Access: access.Config{Users: people(t)}})
	r.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "quintet.example"}, ForceAttemptHTTP2: true}
	r.url = "https://" + l.Addr().String()
	resp, body := r.get("/api/v1/jobs", "Authorization: Basic YW5uOnNlY3JldA==", "Host: quintet.example")
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 || resp.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%s %d %s", resp.Proto, resp.StatusCode, body)
	}
	e := r.events("/api/v1/stream?after=4", "Authorization: Basic YW5uOnNlY3JldA==")
	if ev := e.next(t, "incident"); ev.id != "5" {
		t.Errorf("%+v", ev)
	}
	if resp, _ := r.get("/api/v1/jobs"); resp.StatusCode != 401 {
		t.Errorf("without a password: %d", resp.StatusCode)
	}
}

// TestTLSFilesAreReadAgain: the next connection after a rotation shows the new
// certificate, and asks for one of the new authority.
func TestTLSFilesAreReadAgain(t *testing.T) {
	cert, key, first := certificate(t)
	ca, _, _ := certificate(t)
	_, ours := leafOf(t, cert, key)
	r := run(t, told(), Config{CertFile: cert, KeyFile: key, ClientCAFile: ca})
	get := func(roots *x509.CertPool, own ...tls.Certificate) error {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "quintet.example", Certificates: own}}}
		resp, err := c.Get(r.url + "/-/healthy")
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if get(first, ours) == nil || get(first) == nil {
		t.Error("another authority's certificate, or none, is admitted")
	}
	replace(t, cert, ca, 1)
	if err := get(first, ours); err != nil {
		t.Error("after the authority was replaced:", err)
	}
	cert2, key2, second := certificate(t)
	replace(t, key2, key, 2)
	replace(t, cert2, cert, 2)
	if err := get(first, ours); err == nil {
		t.Error("the old certificate is still shown")
	}
	if err := get(second, ours); err != nil {
		t.Error("after the certificate was replaced:", err)
	}
}

// leafOf reads a certificate with its key.
func leafOf(t *testing.T, cert, key string) (*x509.Certificate, tls.Certificate) {
	t.Helper()
	c, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf, c
}

// replace writes one file over another, so many hours later.
func replace(t *testing.T, from, to string, hours int) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(hours) * time.Hour)
	if err := errors.Join(os.WriteFile(to, b, 0o600), os.Chtimes(to, at, at)); err != nil {
		t.Fatal(err)
	}
}

// TestOIDCLeadsBrowsersToTheProvider: a browser is redirected to the login, a
// program gets an error that requires it.
func TestOIDCLeadsBrowsersToTheProvider(t *testing.T) {
	r := run(t, told(), Config{Access: access.Config{OIDC: access.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "quintet", Redirect: "http://127.0.0.1:1" + access.CallbackPath,
		Groups: map[string]access.Role{"sre": access.Operator}}}})
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if resp, _ := r.get("/incidents?x=1", "Accept: text/html"); resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "/-/login?to=%2Fincidents%3Fx%3D1" {
		t.Errorf("a browser: %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if resp, _ := r.get("/api/v1/jobs"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a program: %d", resp.StatusCode)
	}
	if resp, body := r.get("/-/login"); resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, "identity provider does not answer") {
		t.Errorf("a provider that is away: %d %s", resp.StatusCode, body)
	}
	if resp, body := r.get(access.CallbackPath + "?code=x&state=y"); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "begin again") {
		t.Errorf("an answer to no login: %d %s", resp.StatusCode, body)
	}
}

// elsewhere is a listener that seems to be off loopback.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8420} }

func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "quintet.example"}, DNSNames: []string{"quintet.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.WriteFile(cert, public, 0o600), os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return cert, key, pool
}

// TestAPanicCostsOneRequest.
func TestAPanicCostsOneRequest(t *testing.T) {
	r := run(t, told(), Config{Push: map[string]http.HandlerFunc{"/api/v1/jobs/{job}/steps": func(http.ResponseWriter, *http.Request) { panic("oh") }}})
	if resp, body := r.request(http.MethodPost, "/api/v1/jobs/a/steps", "{}"); resp.StatusCode != 500 || !strings.Contains(body, "a fault in the server") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := r.get("/api/v1/jobs"); resp.StatusCode != 200 || r.server.count.panics.Get() != 1 {
		t.Errorf("afterwards: %d", resp.StatusCode)
	}
}

// FuzzRequests sends any path and body to every kind of route: the answer is never
// a 500, and an error describes what is wrong.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/api/v1/incidents?state=open&since=2026-11-21T12:00:00Z", "")
	f.Add("POST", "/api/v1/incidents/inc-0000000000000002/verdict", `{"verdict":"right","by":"ann","text":""}`)
	f.Add("POST", "/api/v1/incidents/inc-0000000000000002/acknowledge", `{"by":1}`)
	f.Add("GET", "/api/v1/topology?entity=nic:h9/nic0&hops=2", "")
	f.Add("GET", "/api/v1/incidents/inc-0000000000000002/curves?since=0001-01-01T00:00:00Z", "")
	f.Add("GET", "/../..//incidents/%2e%2e/x", "")
	site := told()
	site.kv.watched = true
	s, err := newServer(f.Context(), Config{Bus: site, Incidents: site, Firing: newSite(), Curves: drawer{}})
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range site.stream {
		s.ledger.take(r)
	}
	s.ledger.wanted = 0
	go s.notes.run(f.Context())
	for open := false; !open; runtime.Gosched() {
		_, why := s.notes.bucket.Open()
		open = why == nil
	}
	h := s.handler(true)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if strings.HasPrefix(path, "/api/v1/stream") || !strings.HasPrefix(path, "/") {
			return
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code == 500 {
			t.Errorf("%s %s: 500 %s", method, path, w.Body)
		}
		if w.Code >= 400 && method != http.MethodHead && !strings.Contains(w.Body.String(), `{"type":"about:blank","title":"`) {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	})
}
