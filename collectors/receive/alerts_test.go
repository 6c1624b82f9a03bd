package receive

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestWhomAnAlertIsAbout(t *testing.T) {
	for labels, want := range map[string]string{
		`{"kind":"port","name":"leaf3/eth12","instance":"x"}`:     "port:leaf3/eth12",
		`{"entity":"gpu:n1/3","node":"n2"}`:                       "gpu:n1/3",
		`{"kind":"toaster","name":"x","instance":"n1:9100"}`:      "node:n1",
		`{"Hostname":"n1","gpu":"3","instance":"10.0.0.1:9400"}`:  "gpu:n1/3",
		`{"node":"n1","nic":"mlx5_0"}`:                            "nic:n1/mlx5_0",
		`{"switch":"leaf3","interface":"Ethernet1/1"}`:            "port:leaf3/Ethernet1%2F1",
		`{"switch":"leaf3","instance":"exporter:9100"}`:           "switch:leaf3",
		`{"instance":"[2001:db8::1]:9100"}`:                       "node:2001:db8::1",
		`{"rack":"r7"}`:                                           "rack:r7",
		`{"pdu":"p1"}`:                                            "pdu:p1",
		`{"job":"node","alertname":"Watchdog"}`:                   "collector:receive/alertmanager",
		`{"node":"a b"}`:                                          "node:a%20b",
		`{"node":"` + strings.Repeat("x", 300) + `","rack":"r1"}`: "rack:r1",
	} {
		var l map[string]string
		if err := json.Unmarshal([]byte(labels), &l); err != nil {
			t.Fatal(err)
		}
		if got := entityOf(l, "alertmanager").String(); got != want {
			t.Errorf("%s: %s, want %s", labels, got, want)
		}
	}
}

// TestGrafanasSignature is held against values that openssl computed: echo -n
// BODY | openssl dgst -sha256 -hmac secret.
func TestGrafanasSignature(t *testing.T) {
	const body = `{"version":"1","alerts":[]}`
	const plain = "85e7bc0a2e5293bfbf8757bf85ce8d8b066758f6e992d4499a7aa5c6d5d01e7c"
	const timed = "87c60f8e4e49b4db6c27bde1a91be70f2407186df587f3c7b8ab0fd4ebfdf546" // of 1795262400:BODY
	r := open(t, Config{}).Receiver
	header := ""
	r.cfg.Grafana = func() (string, string, error) { return "secret", header, nil }
	ask := func(set map[string]string) int {
		req := httptest.NewRequest(http.MethodPost, "/api/v1/alerts/grafana", strings.NewReader(body))
		for k, v := range set {
			req.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		r.GrafanaAlerts(w, req)
		return w.Code
	}
	for _, c := range []struct {
		timestamp string
		set       map[string]string
		want      int
	}{
		{"", map[string]string{signatureHeader: plain}, http.StatusOK},
		{"", map[string]string{signatureHeader: timed}, http.StatusUnauthorized},
		{"", map[string]string{signatureHeader: "sha256=" + plain}, http.StatusUnauthorized},
		{"", nil, http.StatusUnauthorized},
		{"X-At", map[string]string{signatureHeader: timed, "X-At": "1795262400"}, http.StatusOK},
		{"X-At", map[string]string{signatureHeader: timed, "X-At": "1795262401"}, http.StatusUnauthorized},
		{"X-At", map[string]string{signatureHeader: timed, "X-At": "1795262000"}, http.StatusUnauthorized}, // too old
		{"X-At", map[string]string{signatureHeader: plain}, http.StatusUnauthorized},
	} {
		header = c.timestamp
		if code := ask(c.set); code != c.want {
			t.Errorf("%q %v: %d, want %d", c.timestamp, c.set, code, c.want)
		}
	}
	r.cfg.Grafana = func() (string, string, error) { return "", "", errors.New("no file") }
	if code := ask(nil); code != http.StatusServiceUnavailable {
		t.Error(code)
	}
}

// FuzzAlerts reads anything as each of the three forms: what comes of it fits
// into the log.
func FuzzAlerts(f *testing.F) {
	f.Add([]byte(`{"version":"4","alerts":[{"status":"firing","labels":{"alertname":"A","instance":"n1:9100"},"annotations":{"summary":"s"},"startsAt":"2026-11-21T12:00:00Z","fingerprint":"0011"}]}`))
	f.Add([]byte(`[{"labels":{"alertname":"A"},"endsAt":"2026-11-21T12:00:00Z"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		defer collectorstest.Bounded(t, len(body))()
		const now = telemetry.Time(1795262400e9)
		if weighAlerts(body) != nil {
			return
		}
		var list []foreignAlert
		for _, version := range []string{"4", "1"} {
			if a, err := readWebhook(body, version, "grafana", now); err == nil {
				hold(t, a)
			}
		}
		if json.Unmarshal(body, &list) == nil {
			if a, err := alertsOf(list, "prometheus", now); err == nil {
				hold(t, a)
			}
		}
	})
}

func hold(t *testing.T, a accepted) {
	t.Helper()
	for _, e := range a.(eventList) {
		if err := e.Entity.Validate(); err != nil {
			t.Fatal(err)
		}
		if _, err := telemetry.AppendRecord(nil, &telemetry.Record{Kind: telemetry.EventRecord, Event: e}); err != nil {
			t.Fatal(err)
		}
	}
}
