package access

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// clock is a clock that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func hashed(t *testing.T, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

func open(t *testing.T, c Config) (*Book, *clock) {
	t.Helper()
	at := &clock{time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)}
	c.Now = at.now
	b, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return b, at
}

// request is one from an address; user is NAME:PASSWORD, or a token.
func request(from, user string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = from
	switch name, password, basic := strings.Cut(user, ":"); {
	case basic:
		r.SetBasicAuth(name, password)
	case user != "":
		r.Header.Set("Authorization", "Bearer "+user)
	}
	return r
}

func TestAdmitKnowsEveryKindOfUser(t *testing.T) {
	b, at := open(t, Config{
		Users: []User{
			{Name: "ann", PasswordHash: hashed(t, "secret")},
			{Name: "ben", PasswordFile: write(t, "ben", "secret\n"), Role: Viewer},
			{Name: "cho", PasswordFile: write(t, "cho", hashed(t, "secret")+"\n"), Role: Operator},
			{Name: "ci", TokenFile: write(t, "ci", "0123456789abcdef\n"), Role: Push},
			{Name: "gone", PasswordFile: write(t, "gone", "secret\n"), Expires: time.Date(2026, 11, 24, 3, 0, 1, 0, time.UTC)},
		},
		File:  write(t, "web.yml", "basic_auth_users:\n  eve: "+hashed(t, "secret")+"\n  dan: "+hashed(t, "secret")+"\n"),
		Roles: map[string]Role{"dan": Operator},
	})
	for user, want := range map[string]Principal{
		"ann:secret": {"ann", Admin, "password"}, "ben:secret": {"ben", Viewer, "password"}, "cho:secret": {"cho", Operator, "password"},
		"0123456789abcdef": {"ci", Push, "token"}, "dan:secret": {"dan", Operator, "password"}, "eve:secret": {"eve", Viewer, "password"},
		"gone:secret": {"gone", Admin, "password"},
	} {
		for range 2 { // the second time it is remembered
			if p, err := b.Admit(request("192.0.2.1:1", user)); err != nil || p != want {
				t.Errorf("%s: %+v, %v", user, p, err)
			}
		}
	}
	at.at = at.at.Add(time.Second)
	for _, user := range []string{"gone:secret", "ann:guess", "ann:", "nobody:secret", "0123456789abcdeg", "ci:0123456789abcdef"} {
		if _, err := b.Admit(request("192.0.2."+string(rune('2'+len(user)%5))+":1", user)); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", user, err)
		}
	}
	if _, err := b.Admit(request("192.0.2.9:1", "")); !errors.Is(err, ErrNoCredentials) {
		t.Errorf("no credentials: %v", err)
	}
}

// TestAdmitRefusesARemovedUser within seconds, without a restart.
func TestAdmitRefusesARemovedUser(t *testing.T) {
	file := write(t, "web.yml", "basic_auth_users:\n  eve: "+hashed(t, "secret")+"\n")
	token := write(t, "ci", "0123456789abcdef\n")
	b, at := open(t, Config{File: file, Users: []User{{Name: "ci", TokenFile: token, Role: Push}}})
	for _, user := range []string{"eve:secret", "0123456789abcdef"} {
		if _, err := b.Admit(request("192.0.2.1:1", user)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(file, []byte("basic_auth_users: {}\n"), 0o600), os.Remove(token)); err != nil {
		t.Fatal(err)
	}
	at.at = at.at.Add(lookAgain)
	for _, user := range []string{"eve:secret", "0123456789abcdef"} {
		if _, err := b.Admit(request("192.0.2.1:1", user)); !errors.Is(err, ErrRefused) {
			t.Errorf("%s is admitted: %v", user, err)
		}
	}
}

func TestAdmitThrottlesAnAddress(t *testing.T) {
	b, at := open(t, Config{Users: []User{{Name: "ann", PasswordFile: write(t, "ann", "secret")}}})
	guess := func(from, user string) error {
		_, err := b.Admit(request(from, user))
		return err
	}
	for range freeFailures {
		if err := guess("[2001:db8::1]:1", "ann:guess"); !errors.Is(err, ErrRefused) {
			t.Fatal(err)
		}
	}
	var wait *ThrottledError
	if err := guess("[2001:db8::2]:1", "ann:secret"); !errors.As(err, &wait) || wait.Wait != firstWait {
		t.Errorf("another address of the /64: %v", err)
	}
	if err := guess("[2001:db8:0:1::1]:1", "ann:secret"); err != nil {
		t.Errorf("another network: %v", err)
	}
	at.at = at.at.Add(firstWait)
	if err := guess("[2001:db8::1]:1", "ann:guess"); !errors.Is(err, ErrRefused) {
		t.Errorf("after the wait: %v", err)
	}
	if err := guess("[2001:db8::1]:1", "ann:secret"); !errors.As(err, &wait) || wait.Wait != 2*firstWait {
		t.Errorf("the wait doubles: %v", err)
	}
	at.at = at.at.Add(2 * firstWait)
	if err := guess("[2001:db8::1]:1", "ann:secret"); err != nil {
		t.Errorf("the right password: %v", err)
	}
	for i := range maxAddress + 10 {
		_ = guess(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String()+":1", "ann:guess")
	}
	if n := len(b.throttle.byAddress); n > maxAddress {
		t.Errorf("%d addresses are kept", n)
	}
}

// TestAdmitTrustsTheProxyOnly: its header from other addresses is ignored, and two
// of it are a smuggled one.
func TestAdmitTrustsTheProxyOnly(t *testing.T) {
	b, _ := open(t, Config{Proxy: Proxy{Header: "X-Remote-User", From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/30")}}, Roles: map[string]Role{"ann": Admin}})
	for _, c := range []struct {
		from  string
		names []string
		want  error
		role  Role
	}{
		{"10.0.0.1:1", []string{"ann"}, nil, Admin},
		{"[::ffff:10.0.0.1]:1", []string{"ben"}, nil, Viewer},
		{"10.0.0.4:1", []string{"ann"}, ErrNoCredentials, ""},
		{"10.0.0.1:1", []string{"ann", "ben"}, ErrRefused, ""},
		{"10.0.0.1:1", []string{""}, ErrRefused, ""},
		{"10.0.0.1:1", nil, ErrNoCredentials, ""},
	} {
		r := request(c.from, "")
		for _, n := range c.names {
			r.Header.Add("X-Remote-User", n)
		}
		if p, err := b.Admit(r); !errors.Is(err, c.want) || p.Role != c.role {
			t.Errorf("%s %q: %+v, %v", c.from, c.names, p, err)
		}
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	for want, c := range map[string]Config{
		"web.users[0]: a: password_hash: not a bcrypt hash":     {Users: []User{{Name: "a", PasswordHash: "secret"}}},
		"web.users[0]: a: password_file: open ":                 {Users: []User{{Name: "a", PasswordFile: filepath.Join(t.TempDir(), "none")}}},
		"want one line":                                         {Users: []User{{Name: "a", PasswordFile: write(t, "two", "a\nb\n")}}},
		"want a token of 16 bytes or more":                      {Users: []User{{Name: "a", TokenFile: write(t, "short", "abc\n")}}},
		"the token is also that of a":                           {Users: []User{{Name: "a", TokenFile: write(t, "t1", "0123456789abcdef")}, {Name: "b", TokenFile: write(t, "t2", "0123456789abcdef")}}},
		"name required":                                         {Users: []User{{PasswordHash: "x"}}},
		"duplicate name":                                        {Users: []User{{Name: "a", PasswordHash: "x"}, {Name: "a", PasswordHash: "x"}}},
		"want viewer, operator, admin or push":                  {Roles: map[string]Role{"a": "root"}},
		"tls_server_config: unsupported: state web.tls instead": {File: write(t, "tls.yml", "tls_server_config: {cert_file: c}\n")},
		"rate_limit: unsupported":                               {File: write(t, "rate.yml", "rate_limit: {burst: 1}\n")},
		"eve: not a bcrypt hash":                                {File: write(t, "bad.yml", "basic_auth_users: {eve: secret}\n")},
		"bcrypt cost 31: want at most 14":                       {File: write(t, "cost.yml", "basic_auth_users: {eve: '$2a$31"+strings.Repeat("a", 53)+"'}\n")},
		"is also in web.users":                                  {File: write(t, "twice.yml", "basic_auth_users: {a: '"+hashed(t, "x")+"'}\n"), Users: []User{{Name: "a", PasswordHash: hashed(t, "x")}}},
		"web.proxy: from: required":                             {Proxy: Proxy{Header: "X-User"}},
		"would trust every address":                             {Proxy: Proxy{Header: "X-User", From: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}},
		"authorization is reserved":                             {Proxy: Proxy{Header: "authorization", From: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}}},
	} {
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// TestRoleMay: the whole table.
func TestRoleMay(t *testing.T) {
	for role, want := range map[Role]string{Viewer: "r", Operator: "ro", Admin: "roas", Push: "s", "": "roas", "root": ""} {
		got := ""
		for _, x := range []struct {
			right Right
			name  string
		}{{Read, "r"}, {Operate, "o"}, {Administer, "a"}, {Send, "s"}} {
			if role.May(x.right) {
				got += x.name
			}
		}
		if got != want {
			t.Errorf("%q may %q, want %q", role, got, want)
		}
	}
}

// FuzzParseWebFile: the parsed file is a list of usable hashes.
func FuzzParseWebFile(f *testing.F) {
	f.Add([]byte("basic_auth_users:\n  eve: $2a$04$" + strings.Repeat("a", 53) + "\n"))
	f.Add([]byte("tls_server_config: {cert_file: c}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		hashes, err := parseWebFile(b)
		if err != nil {
			return
		}
		for _, h := range hashes {
			if checkName(h.name) != nil || checkHash(string(h.text)) != nil {
				t.Errorf("%q is accepted", h.name)
			}
		}
	})
}
