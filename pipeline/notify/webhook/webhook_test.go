package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// TestMain names a proxy that is not there: requests to loopback must not take
// it.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		os.Setenv(name, "http://127.0.0.1:1")
	}
	os.Exit(m.Run())
}

const (
	secretA = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretB = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// request is a request that the far end received.
type request struct {
	header http.Header
	body   []byte
	path   string
}

// far is an HTTP server with configurable answers.
type far struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	heard  []request
	leave  chan struct{} // closed when hanging handlers may go
}

func newFar(t testing.TB) *far {
	f := &far{leave: make(chan struct{}), answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() { close(f.leave); f.Server.Close() })
	return f
}

func (f *far) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.heard = append(f.heard, request{r.Header.Clone(), body, r.URL.RequestURI()})
	answer := f.answer
	f.mu.Unlock()
	answer(w, r)
}

func (f *far) set(h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = h
}

func (f *far) requests() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.heard...)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func breakOff(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func open(t testing.TB, c webhook.Config) *post.Sender {
	t.Helper()
	w, err := webhook.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func message() *notify.Message {
	return &notify.Message{ID: "inc-5f1c02d9a1b7e340.3.ops", Type: notify.TypeUpdated, Body: []byte(`{"type":"incident.updated","data":{"title":"ü"}}`), Attempt: 1}
}

func TestConformance(t *testing.T) {
	notifytest.Test(t, func(t *testing.T) notifytest.Far {
		f := newFar(t)
		behave := func(w notifytest.Way) bool {
			switch w {
			case notifytest.Accepts:
				f.set(status(http.StatusCreated))
			case notifytest.Refuses:
				f.set(func(w http.ResponseWriter, _ *http.Request) {
					http.Error(w, "not\r\nnow", http.StatusInternalServerError)
				})
			case notifytest.Throttles:
				f.set(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", strconv.Itoa(int(notifytest.Wish/time.Second)))
					w.WriteHeader(http.StatusTooManyRequests)
				})
			case notifytest.Hangs:
				f.set(func(http.ResponseWriter, *http.Request) { <-f.leave })
			case notifytest.BreaksOff:
				f.set(breakOff)
			case notifytest.Leaves:
				f.set(status(http.StatusGone))
			case notifytest.Absent:
				f.Listener.Close()
			case notifytest.Redirects:
				f.set(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, f.URL+"/elsewhere", http.StatusFound)
				})
			}
			return true
		}
		received := func() (out []notifytest.Received) {
			for _, r := range f.requests() {
				out = append(out, notifytest.Received{ID: r.header.Get("webhook-id"), Body: r.body})
			}
			return out
		}
		return notifytest.Far{Notifier: open(t, webhook.Config{URL: f.URL, SecretFile: notifytest.Secret(t, secretA)}), Behave: behave, Received: received}
	})
}

// verify checks a request as a receiver would, written from the words of the
// standard.
func verify(secret string, r request, now time.Time) error {
	_, encoded, _ := strings.Cut(secret, "_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(r.header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		return err
	}
	if off := now.Unix() - seconds; off < -300 || off > 300 {
		return errors.New("the timestamp is too far off")
	}
	signed := append([]byte(r.header.Get("webhook-id")+"."+r.header.Get("webhook-timestamp")+"."), r.body...)
	mac := hmac.New(sha256.New, key)
	mac.Write(signed)
	for _, s := range strings.Split(r.header.Get("webhook-signature"), " ") {
		version, value, _ := strings.Cut(s, ",")
		got, err := base64.StdEncoding.DecodeString(value)
		if version == "v1" && err == nil && hmac.Equal(got, mac.Sum(nil)) {
			return nil
		}
	}
	return errors.New("no signature fits")
}

func TestSignature(t *testing.T) {
	f := newFar(t)
	now := time.Date(2026, 11, 21, 2, 47, 0, 0, time.UTC)
	w := open(t, webhook.Config{URL: f.URL + "/hook?team=a", SecretFile: notifytest.Secret(t, secretB+"\n"+secretA),
		Post: post.Config{Headers: map[string]string{"x-team": "a b"}, Version: "1.2.3", Now: func() time.Time { return now }}})
	m := message()
	if a := w.Notify(t.Context(), m); a.Verdict != notify.Taken || a.Status != http.StatusNoContent {
		t.Fatalf("%+v", a)
	}
	r := f.requests()[0]
	for _, secret := range []string{secretA, secretB} {
		if err := verify(secret, r, now); err != nil {
			t.Errorf("%s: %v", secret, err)
		}
	}
	if err := verify("whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 24)), r, now); err == nil {
		t.Error("another secret's signature fits")
	}
	for name, want := range map[string]string{"webhook-id": m.ID, "webhook-timestamp": "1795229220", "content-type": "application/json",
		"user-agent": "quintet/1.2.3", "x-team": "a b"} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if string(r.body) != string(m.Body) || r.path != "/hook?team=a" {
		t.Errorf("%s: %s", r.path, r.body)
	}
}

// TestKnownSignature is the example of the standard's own libraries.
func TestKnownSignature(t *testing.T) {
	f := newFar(t)
	w := open(t, webhook.Config{URL: f.URL, SecretFile: notifytest.Secret(t, secretA), Post: post.Config{Now: func() time.Time { return time.Unix(1614265330, 0) }}})
	w.Notify(t.Context(), &notify.Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Body: []byte(`{"test": 2432232314}`)})
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := f.requests()[0].header.Get("webhook-signature"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSecretFileIsReadForEveryRequest(t *testing.T) {
	f, path := newFar(t), filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(secretA + "\n")
	w := open(t, webhook.Config{URL: f.URL, SecretFile: path})
	w.Notify(t.Context(), message())
	write(secretB + " " + secretA)
	w.Notify(t.Context(), message())
	for i, secrets := range [][]string{{secretA}, {secretA, secretB}} {
		for _, s := range secrets {
			if err := verify(s, f.requests()[i], time.Now()); err != nil {
				t.Errorf("request %d, %s: %v", i, s, err)
			}
		}
	}
	write("whsec_!")
	if a := w.Notify(t.Context(), message()); a.Verdict != notify.Refused || !strings.Contains(a.Reason, "base64") || len(f.requests()) != 2 {
		t.Errorf("a broken file: %+v, %d requests", a, len(f.requests()))
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	f := newFar(t)
	secret := "token=hidden"
	w := open(t, webhook.Config{URL: f.URL + "/?" + secret, Post: post.Config{Timeout: 200 * time.Millisecond}})
	elsewhere := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, f.URL+"/elsewhere?"+secret, http.StatusPermanentRedirect)
	}
	slow := func(code int) http.HandlerFunc { // a status, and then a body that never ends
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(code)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-f.leave:
			}
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		verdict notify.Verdict
		status  int
		reason  string
	}{
		"200":            {status(200), notify.Taken, 200, ""},
		"299":            {status(299), notify.Taken, 299, ""},
		"400":            {status(400), notify.Refused, 400, "400 Bad Request"},
		"401":            {status(401), notify.Refused, 401, "401"},
		"404":            {status(404), notify.Refused, 404, "404"},
		"410":            {status(410), notify.Gone, 410, "410"},
		"500":            {status(500), notify.Refused, 500, "500"},
		"503":            {status(503), notify.Refused, 503, "503"},
		"redirect":       {elsewhere, notify.Refused, 308, "/elsewhere: redirects are not followed"},
		"200, slow body": {slow(200), notify.Taken, 200, ""},
		"500, slow body": {slow(500), notify.Refused, 500, "500"},
		"502, endless":   {endless, notify.Refused, 502, "502"},
		"text of an error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no\x1b[31m\nroom", http.StatusInsufficientStorage)
		}, notify.Refused, 507, ": no [31m room"},
		"hangs":      {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, notify.NoAnswer, 0, "no answer in time"},
		"breaks off": {breakOff, notify.NoAnswer, 0, "EOF"},
	} {
		f.set(c.answer)
		before := len(f.requests())
		a := w.Notify(t.Context(), message())
		if a.Verdict != c.verdict || a.Status != c.status || !strings.Contains(a.Reason, c.reason) || (a.Reason == "") != (c.reason == "") {
			t.Errorf("%s: %+v", name, a)
		}
		if strings.Contains(a.Reason, "hidden") {
			t.Errorf("%s: the reason shows a secret: %s", name, a.Reason)
		}
		if n := len(f.requests()) - before; n != 1 {
			t.Errorf("%s: %d requests for one attempt", name, n)
		}
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(status(http.StatusOK))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.pem", "CERTIFICATE", server.Certificate().Raw)
	strange := open(t, webhook.Config{URL: server.URL})
	if a := strange.Notify(t.Context(), message()); a.Verdict == notify.Taken || !strings.Contains(a.Reason, "certificate") {
		t.Errorf("an authority that nobody trusts: %+v", a)
	}
	keyFile := filepath.Join(dir, "key.pem")
	if err := os.WriteFile(keyFile, keyPEM(t, server.TLS.Certificates[0].PrivateKey), 0o600); err != nil {
		t.Fatal(err)
	}
	known := open(t, webhook.Config{URL: server.URL, SecretFile: notifytest.Secret(t, secretA), Post: post.Config{TLS: dial.TLS{CA: ca, Cert: ca, Key: keyFile}}})
	if a := known.Notify(t.Context(), message()); a.Verdict != notify.Taken {
		t.Errorf("with its authority and a certificate of our own: %+v", a)
	}
}

// TestRotatedAuthority: the receiver has a certificate of another authority, and the
// file of authorities is replaced: the next message is delivered, without a restart.
func TestRotatedAuthority(t *testing.T) {
	server := httptest.NewUnstartedServer(status(http.StatusOK))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write := func(der []byte, at time.Time) {
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(ca, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(strangerDER(t), time.Unix(1000, 0))
	w := open(t, webhook.Config{URL: server.URL, Post: post.Config{TLS: dial.TLS{CA: ca}}})
	if a := w.Notify(t.Context(), message()); a.Verdict == notify.Taken {
		t.Errorf("another authority's certificate: %+v", a)
	}
	write(server.Certificate().Raw, time.Unix(2000, 0))
	if a := w.Notify(t.Context(), message()); a.Verdict != notify.Taken {
		t.Errorf("after the rotation: %+v", a)
	}
}

// strangerDER is the certificate of an authority that signed nothing.
func strangerDER(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestCancelledWhileItHangs(t *testing.T) {
	f := newFar(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.set(func(http.ResponseWriter, *http.Request) { cancel(); <-f.leave })
	w := open(t, webhook.Config{URL: f.URL})
	if a := w.Notify(ctx, message()); a.Verdict != notify.NoAnswer {
		t.Errorf("%+v", a)
	}
}
