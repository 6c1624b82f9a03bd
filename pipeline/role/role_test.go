package role

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestEnrolledReadsTheRoleOfCredentials(t *testing.T) {
	file := func(claims string) string {
		return HeadMark + "collect:n1\n-----BEGIN NATS USER JWT-----\neyJhIjoxfQ." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln\n------END NATS USER JWT------\n"
	}
	for _, c := range []struct {
		name, text string
		want       Role
		fails      string
	}{
		{"a collecting process", file(`{"name":"collect:n1"}`), "collect:n1", ""},
		{"of somebody else", strings.TrimPrefix(file(`{"name":"collect:n1"}`), HeadMark), "", ""},
		{"without a token", HeadMark + "collect:n1\n", "", "no token"},
		{"claims that are no JSON", file(`{`), "", "claims"},
	} {
		got, err := Enrolled([]byte(c.text))
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, got, err, c.want, c.fails)
		}
	}
}
