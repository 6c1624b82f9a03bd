package plugin

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/frames"
)

// call asks for a resource, as an editor does.
func (s *served) call(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	path, _, _ := strings.Cut(url, "?")
	err := s.CallResource(t.Context(), &backend.CallResourceRequest{PluginContext: s.context, Method: http.MethodGet, Path: path, URL: url},
		backend.CallResourceResponseSenderFunc(func(r *backend.CallResourceResponse) error {
			status, body = r.Status, append(body, r.Body...)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

func TestWhatEditorsOffer(t *testing.T) {
	s := serve(t, newScript(t).URL)
	for url, want := range map[string]string{
		"jobs":                         "eval train",
		"jobs?search=TRA":              "train",
		"entities?search=n":            "nic: node:",
		"entities?search=nic:h1":       "nic:h1/nic0 nic:h10/nic0",
		"entities?search=nic:":         "nic:h0/nic0 nic:h1/nic0 nic:h10/nic0 nic:h9/nic0",
		"signatures?search=cool":       "coolant-flow-loss coolant-warm",
		"incidents?search=flow":        "",
		"incidents?search=coolant":     "inc-00000000000000b2",
		"incidents?search=inc-0000000": "inc-00000000000000a1 inc-00000000000000c3 inc-00000000000000b2",
	} {
		status, body := s.call(t, url)
		var list []frames.Choice
		if err := json.Unmarshal(body, &list); err != nil || status != http.StatusOK || list == nil {
			t.Errorf("%s: %d %s, %v; want a list", url, status, body, err)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", url, got, want)
		}
	}
	if status, body := s.call(t, "weather"); status != http.StatusNotFound || !strings.Contains(string(body), "there is nothing at /weather") {
		t.Errorf("weather: %d %s", status, body)
	}
}

// If Quintet refuses, the editor gets the reason, with no status that would end the
// user's session. Faults are offered all the same.
func TestWhatEditorsOfferWithoutAnAnswer(t *testing.T) {
	q := newScript(t)
	q.instead = func(w http.ResponseWriter, _ *http.Request) { problem(w, http.StatusUnauthorized, "who are you?") }
	s := serve(t, q.URL)
	for _, of := range []string{"jobs", "entities", "incidents"} {
		if status, body := s.call(t, of); status != http.StatusBadGateway || !strings.Contains(string(body), "who are you?") {
			t.Errorf("%s: %d %s", of, status, body)
		}
	}
	if status, body := s.call(t, "signatures?search=pfc"); status != http.StatusOK || !strings.Contains(string(body), "pfc-storm") {
		t.Errorf("signatures: %d %s", status, body)
	}
}

// The faults offered are those of the rules.
func TestSignaturesAreThoseOfTheRules(t *testing.T) {
	dir, err := os.ReadDir("../../../../rules/signatures")
	if err != nil {
		t.Skipf("the rules are not beside the plugin: %v", err)
	}
	var want []string
	for _, e := range dir {
		if e.IsDir() {
			want = append(want, e.Name())
		}
	}
	if got := strings.Fields(signatures); !slices.Equal(got, want) {
		t.Errorf("signatures.txt is not current: %v, want %v", got, want)
	}
}

func TestHealth(t *testing.T) {
	q := newScript(t)
	s := serve(t, q.URL)
	got, err := s.CheckHealth(t.Context(), &backend.CheckHealthRequest{PluginContext: s.context})
	want := "Quintet 0.3.0 of site hall-1, rules 78ea011189d0ba1b, 24 sources of which 2 are silent, as of 2026-11-21T09:44:58Z; alarms: clock (node:h3 is off by 3 s)"
	if err != nil || got.Status != backend.HealthStatusOk || got.Message != want {
		t.Errorf("%+v, %v; want %q", got, err, want)
	}
	if !json.Valid(got.JSONDetails) {
		t.Errorf("details: %s", got.JSONDetails)
	}
	q.instead = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"site":"hall-1","engine":"","alarms":[{"name":"no engine","text":"nobody answers"}]}`))
	}
	got, err = s.CheckHealth(t.Context(), &backend.CheckHealthRequest{PluginContext: s.context})
	if err != nil || got.Status != backend.HealthStatusError || !strings.Contains(got.Message, "no engine does: no engine (nobody answers)") {
		t.Errorf("%+v, %v", got, err)
	}
}
