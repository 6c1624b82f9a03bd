package serve

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestEveryRouteAnswersErrorsAsProblemDetails requests every path with a method
// that it does not have, with an unknown parameter, and with an invalid body. Every
// refusal must be a problem detail of RFC 9457.
func TestEveryRouteAnswersErrorsAsProblemDetails(t *testing.T) {
	r := run(t, newSite(), Config{})
	refused := 0
	for _, x := range r.server.routes() {
		for _, ask := range []struct {
			method, query, body string
			asked               bool
		}{{http.MethodDelete, "", "", true}, {http.MethodGet, "?bogus=1", "", x.get != nil}, {http.MethodPost, "", "{", x.post != nil}} {
			if !ask.asked {
				continue
			}
			resp, body := r.request(ask.method, x.path+ask.query, ask.body)
			if resp.StatusCode < http.StatusBadRequest {
				continue // the page, metrics and whether it is healthy take any parameter
			}
			refused++
			var d details
			err := json.Unmarshal([]byte(body), &d)
			if err != nil || resp.Header.Get("Content-Type") != "application/problem+json" || d.Status != resp.StatusCode || d.Type == "" || d.Title == "" || d.Detail == "" {
				t.Errorf("%s %s%s: %d %s %s", ask.method, x.path, ask.query, resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
			if ask.method == http.MethodDelete && resp.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("DELETE %s: %d", x.path, resp.StatusCode)
			}
		}
	}
	if want := 2 * len(r.server.routes()) * 9 / 10; refused < want {
		t.Errorf("%d requests were refused, want %d or more", refused, want)
	}
}
