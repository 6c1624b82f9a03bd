package redfish

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// account is a service that knows one password, and sessions where it has them.
type account struct {
	password string
	sessions bool
	logins   int
	refused  int
	token    string
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, password, basic := r.BasicAuth()
	switch {
	case r.Method == http.MethodPost && !a.sessions:
		a.logins++
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPost:
		a.logins++
		a.token = "t"
		w.Header().Set("X-Auth-Token", a.token)
		w.Header().Set("Location", root+"/SessionService/Sessions/1")
		w.WriteHeader(http.StatusCreated)
	case basic && password == a.password, a.token != "" && r.Header.Get("X-Auth-Token") == a.token:
		_, _ = w.Write([]byte(`{"Id":"1"}`))
	default:
		a.refused++
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// accountClient is a client of an account, the function that writes its password
// file, and the one that moves its clock.
func accountClient(t *testing.T, a *account, auth string) (c *client, write func(string), pass func(time.Duration)) {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "password")
	write = func(s string) {
		if err := os.WriteFile(file, []byte(s+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a.password)
	cfg, err := Config{Address: s.URL, Entity: telemetry.Entity{Kind: telemetry.Node, Name: "n1"}, BasicAuth: dial.BasicAuth{Username: "u", PasswordFile: file}, Auth: auth}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = newClient(&cfg, dial.Guard{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.logout)
	now := time.Unix(1e9, 0)
	c.clock = func() time.Time { return now }
	return c, write, func(d time.Duration) { now = now.Add(d) }
}

func TestBasicAuthRereadsThePassword(t *testing.T) {
	a := &account{password: "old"}
	c, write, pass := accountClient(t, a, Basic)
	get := func() answer { t.Helper(); return c.get(t.Context(), root+"/Chassis", "", time.Second) }
	if got := get(); got.err != nil {
		t.Fatal(got.err)
	}
	a.password = "new"
	write("new")
	if got := get(); got.err != nil || a.refused != 1 {
		t.Errorf("after the password changed: %v, %d refused", got.err, a.refused)
	}
	write("newer")
	pass(basicFor)
	if got := get(); got.err == nil {
		t.Error("the file was not read again after a minute")
	}
}

func TestBasicAuthBacksOffAfterARefusal(t *testing.T) {
	a := &account{password: "right"}
	c, write, pass := accountClient(t, a, Basic)
	write("wrong")
	for range 10 {
		c.get(t.Context(), root+"/Chassis", "", time.Second)
	}
	if a.refused != 1 {
		t.Errorf("%d requests with a wrong password", a.refused)
	}
	write("right")
	pass(loginFirst)
	if got := c.get(t.Context(), root+"/Chassis", "", time.Second); got.err != nil {
		t.Errorf("after the back-off: %v", got.err)
	}
}

func TestLoginNotFoundIsTriedAgain(t *testing.T) {
	a := &account{password: "p"}
	c, _, pass := accountClient(t, a, Session)
	for range 3 {
		if got := c.get(t.Context(), root+"/Chassis", "", time.Second); got.err != nil {
			t.Fatal(got.err)
		}
		pass(basicFor)
	}
	if a.logins != 1 {
		t.Errorf("%d logins at a service that answered 404", a.logins)
	}
	a.sessions = true
	pass(sessionAgain)
	if got := c.get(t.Context(), root+"/Chassis", "", time.Second); got.err != nil || a.token == "" || c.usesBasic() {
		t.Errorf("no session although the service has them now: %v", got.err)
	}
}
