package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFaultDesk lists what the site has a place for, injects one of them, and refuses
// what is none.
func TestFaultDesk(t *testing.T) {
	w, err := newWiredSite(16, 3, "slurm", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var told []struckFault
	desk := &faultDesk{site: w.site, lasts: time.Minute, tell: func(s struckFault) { told = append(told, s) }}
	ask := func(method, body string, into any) int {
		out := httptest.NewRecorder()
		desk.ServeHTTP(out, httptest.NewRequest(method, "/", strings.NewReader(body)))
		if err := json.Unmarshal(out.Body.Bytes(), into); err != nil {
			t.Fatalf("%s: %v", out.Body, err)
		}
		return out.Code
	}
	var list struct{ Faults []injectable }
	if code := ask(http.MethodGet, "", &list); code != http.StatusOK || len(list.Faults) < 30 {
		t.Errorf("status %d, %d faults", code, len(list.Faults))
	}
	var f demoInjection
	if code := ask(http.MethodPost, `{"fault":"gpu-slow@gpu:n0001/4"}`, &f); code != http.StatusOK || f.Fault != "gpu-slow" || f.Entity.Name != "n0001/4" || f.Until.Sub(f.At) != time.Minute {
		t.Errorf("status %d, %+v", code, f)
	}
	if len(told) != 1 || told[0].fault.Entity != f.Entity {
		t.Errorf("reported: %+v", told)
	}
	for body, want := range map[string]string{`{"fault":"gpu-slo"}`: `did you mean "gpu-slow"`, `{"fault":"gpu-slow@gpu:nowhere/1"}`: "nowhere", "{": "body:"} {
		var refused struct{ Error string }
		if code := ask(http.MethodPost, body, &refused); code != http.StatusBadRequest || !strings.Contains(refused.Error, want) {
			t.Errorf("%s: status %d, %q", body, code, refused.Error)
		}
	}
}
