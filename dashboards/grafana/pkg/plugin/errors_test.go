package plugin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
)

// allKinds are the query types that ask Quintet something.
func allKinds() []string {
	return []string{"incidents", "annotations", "chain", "curves", "topology", "jobs", "losses", "coupling", "budget", "bottlenecks", "coverage", "openIncidents", "lossRate", "values"}
}

// Whatever Quintet does, every query ends with an error that describes it, with a
// status that does not end Grafana's own session, and as Quintet's fault.
func TestWhatCanGoWrongWithQuintet(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		status backend.Status
	}{
		"401":             {func(w http.ResponseWriter, _ *http.Request) { problem(w, 401, "who are you?") }, "wants another user or password (401): who are you?", 502},
		"403":             {func(w http.ResponseWriter, _ *http.Request) { problem(w, 403, "not from here") }, "does not let this data source ask (403): not from here", 502},
		"503":             {func(w http.ResponseWriter, _ *http.Request) { problem(w, 503, "no engine answers") }, "no engine answers", 503},
		"a proxy's page":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", 502) }, "Quintet answers 502", 502},
		"another program": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) }, "is not Quintet's", 502},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"incidents":[{"id":7`))
		}, "is not Quintet's", 502},
		"another shape": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`["a","list"]`))
		}, "is not Quintet's", 502},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"inc`))
		}, "cannot be reached", 502},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, "does not answer", 504},
	} {
		t.Run(name, func(t *testing.T) {
			q := httptest.NewServer(c.answer)
			defer q.Close()
			s := serve(t, q.URL, func(i *backend.DataSourceInstanceSettings) { i.JSONData = []byte(`{"timeout":1}`) })
			kinds := allKinds()
			if name == "no answer" {
				kinds = kinds[:1]
			}
			for _, kind := range kinds {
				got := s.ask(t, kind, `{"incident":"inc-1"}`)
				if got.Error == nil || !strings.Contains(got.Error.Error(), c.want) {
					t.Errorf("%s: error %v, want %q", kind, got.Error, c.want)
				}
				if got.Status != c.status || got.ErrorSource != backend.ErrorSourceDownstream {
					t.Errorf("%s: status %d from %s, want %d from downstream", kind, got.Status, got.ErrorSource, c.status)
				}
			}
			h, err := s.CheckHealth(t.Context(), &backend.CheckHealthRequest{PluginContext: s.context})
			if err != nil || h.Status != backend.HealthStatusError || !strings.Contains(h.Message, c.want) {
				t.Errorf("health: %+v, %v; want %q", h, err, c.want)
			}
		})
	}
}

// No server listens at Quintet's address.
func TestQuintetIsNotThere(t *testing.T) {
	s := serve(t, "http://"+free(t))
	if got := s.ask(t, "jobs", `{}`); got.Error == nil || !strings.Contains(got.Error.Error(), "Quintet cannot be reached") || got.Status != 502 {
		t.Errorf("%+v", got)
	}
}

// What cannot be asked is refused with the field that is wrong, without asking.
func TestQueriesThatAreWrong(t *testing.T) {
	q := newScript(t)
	s := serve(t, q.URL)
	for _, c := range []struct{ kind, query, want string }{
		{"weather", `{}`, `queryType: there is no "weather"`},
		{"incidents", `{"state":"closed"}`, "state: "},
		{"incidents", `{"limit":"many"}`, "the query: "},
		{"incidents", `{"live":true,"entity":"` + strings.Repeat("x", 200) + `"}`, "live: "},
		{"chain", `{"incident":"../jobs"}`, "incident: "},
		{"jobs", `{"format":"pie"}`, "format: "},
		{"losses", `{"groupBy":"colour"}`, "groupBy: "},
		{"coupling", `{"format":"pie"}`, "format: "},
		{"budget", `{"job":"nobody"}`, "job: "},
		{"lossRate", `{"window":"-1h"}`, "window: "},
		{"values", `{"of":"wishes"}`, "of: "},
	} {
		got := s.ask(t, c.kind, c.query)
		if got.Error == nil || !strings.HasPrefix(got.Error.Error(), c.want) || got.Status != backend.StatusBadRequest {
			t.Errorf("%s %s: %v (%d), want %q", c.kind, c.query, got.Error, got.Status, c.want)
		}
	}
}

// Settings that cannot be are refused when the instance is made.
func TestSettingsThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct{ url, json, want string }{
		"no URL":        {"", `{}`, "no URL"},
		"no scheme":     {"quintet:8420", `{}`, "want http://"},
		"a file":        {"file:///etc/passwd", `{}`, "want http://"},
		"a user in it":  {"http://me:secret@quintet:8420", `{}`, "without user"},
		"a bad page":    {"http://quintet:8420", `{"pageUrl":"javascript:alert(1)"}`, "the address of Quintet's page"},
		"no JSON":       {"http://quintet:8420", `{`, "the data source's settings"},
		"a wrong type":  {"http://quintet:8420", `{"access":7}`, "the data source's settings"},
		"a wrong type2": {"http://quintet:8420", `{"basicAuth":true,"basicAuthUser":7}`, "the data source's settings"},
	} {
		_, err := New(t.Context(), backend.DataSourceInstanceSettings{URL: c.url, JSONData: []byte(c.json)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The user and the password of the settings are sent to Quintet, and no error
// contains the password.
func TestWhoAsks(t *testing.T) {
	q := newScript(t)
	q.instead = func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "grafana" || password != "correct horse" {
			problem(w, http.StatusUnauthorized, "wrong user or password")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jobs":[]}`))
	}
	as := func(password string) func(*backend.DataSourceInstanceSettings) {
		return func(s *backend.DataSourceInstanceSettings) {
			s.BasicAuthEnabled, s.BasicAuthUser = true, "grafana"
			s.DecryptedSecureJSONData = map[string]string{"basicAuthPassword": password}
		}
	}
	if got := serve(t, q.URL, as("correct horse")).ask(t, "jobs", `{}`); got.Error != nil {
		t.Error(got.Error)
	}
	got := serve(t, q.URL, as("battery staple")).ask(t, "jobs", `{}`)
	if got.Error == nil || strings.Contains(got.Error.Error(), "battery") {
		t.Errorf("%v, want a refusal without the password", got.Error)
	}
}
