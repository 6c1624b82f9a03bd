package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/client"
)

// answering returns a client of a server that answers each request with h.
func answering(t *testing.T, h http.HandlerFunc, options ...client.Option) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := client.New(s.URL+"/behind/", options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewRefusesWhatIsNoServersURL(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:8420", "ftp://here", "http://", "http://user:secret@here", "http://here?a=b", "http://here#x", "http://here:port"} {
		if _, err := client.New(base); err == nil {
			t.Errorf("New(%q): no error", base)
		}
	}
}

func TestGetIncidentsSendsParametersAndAuthorization(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.String(); got != "/behind/api/v1/incidents?limit=5&state=open" || r.Header.Get("Authorization") != "Bearer x" {
			t.Errorf("asked for %s, %v", got, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"incidents":[{"id":"inc-1","resolved":null,"root":null,"opened":"2026-11-21T09:30:00.5Z"}]}`))
	}, client.WithAuthorization(func(r *http.Request) error { r.Header.Set("Authorization", "Bearer x"); return nil }))
	list, err := c.GetIncidents(t.Context(), client.GetIncidentsParams{State: "open", Limit: 5})
	if err != nil || len(list.Incidents) != 1 || list.Incidents[0].ID != "inc-1" || list.Incidents[0].Root != nil || list.Incidents[0].Opened.Nanosecond() != 5e8 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestGetIncidentsIDEscapesThePath(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.EscapedPath(); got != "/behind/api/v1/incidents/a%2Fb%20c" {
			t.Errorf("asked for %s", got)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	})
	if _, err := c.GetIncidentsID(t.Context(), "a/b c"); err != nil {
		t.Error(err)
	}
}

func TestErrorHasTheProblemDetails(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"title":"Bad Request","status":400,"detail":"want a number","field":"limit","error":"want a number"}`))
	})
	_, err := c.GetJobs(t.Context(), client.GetJobsParams{})
	var is *client.Error
	if !errors.As(err, &is) || is.Status != 400 || is.Field != "limit" || !strings.Contains(err.Error(), "GET /api/v1/jobs: 400 Bad Request: limit: want a number") {
		t.Errorf("%v", err)
	}
}

func TestFormatErrorOfAnotherServersPage(t *testing.T) {
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>Sign in")) })
	_, err := c.GetStatus(t.Context())
	var is *client.FormatError
	if !errors.As(err, &is) {
		t.Errorf("%v", err)
	}
}
