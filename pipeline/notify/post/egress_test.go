package post

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/egress"
	"github.com/quintet-dc/quintet/pipeline/notify"
)

// TestSendStaysWithinEgress: a target that is not allowed is never connected to,
// and the reason names that.
func TestSendStaysWithinEgress(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer s.Close()
	var elsewhere egress.Guard
	if err := elsewhere.ParseTarget("10.0.0.0/8"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		guard egress.Guard
		want  notify.Verdict
	}{{egress.Guard{}, notify.Taken}, {elsewhere, notify.Refused}} {
		client, err := New(Config{Egress: c.guard})
		if err != nil {
			t.Fatal(err)
		}
		a := client.Send(t.Context(), Request{URL: s.URL})
		if a.Verdict != c.want || c.want == notify.Refused && !strings.Contains(a.Reason, "egress refused: 127.0.0.1 is not in egress.allow") {
			t.Errorf("%v: %+v", c.guard, a)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
