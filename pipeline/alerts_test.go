package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/notify/alertmanager"
	"github.com/quintet-dc/quintet/pipeline/notify/standard"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// told returns the URL of a webhook and the messages it receives, one line each.
func told(t *testing.T, read func(*http.Request) (string, error)) (url string, lines <-chan string) {
	out := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		line, err := read(r)
		if err != nil {
			t.Error(err)
		}
		out <- line
	}))
	t.Cleanup(s.Close)
	return s.URL, out
}

// wanted waits for a line that begins so, and returns it.
func wanted(t *testing.T, lines <-chan string, prefix string) string {
	t.Helper()
	for late := time.After(90 * time.Second); ; {
		select {
		case l := <-lines:
			if strings.HasPrefix(l, prefix) {
				return l
			}
			t.Logf("also: %s", l)
		case <-late:
			t.Fatalf("nobody is told %q", prefix)
		}
	}
}

// alertmanagerFor starts a real one whose receiver is at url.
func alertmanagerFor(t *testing.T, url string) string {
	program, err := filepath.Abs("../bin/peers/alertmanager")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Skip("alertmanager is not built: run make peers")
	}
	dir := t.TempDir()
	text := "route: {receiver: hook, group_by: [alertname], group_wait: 0s, group_interval: 1s}\nreceivers: [{name: hook, webhook_configs: [{url: '" + url + "'}]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "am.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := wiretest.FreeAddress(t)
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "am.yml"), "--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return "http://" + address
}

// TestARuleWakesPeople runs the service with a file rule that fires for a while,
// and with the roles log, ticks and notifier only: a webhook and a real
// Alertmanager receive its beginning and its end, once each, and a receiver without
// alerts receives nothing.
func TestARuleWakesPeople(t *testing.T) {
	incident := func(r *http.Request) (string, error) {
		var m struct {
			Type string
			Data struct {
				ID, Title, Kind string
				Root            struct{ Entity, Signature string }
				Alerts          []struct{ Labels map[string]string }
			}
		}
		err := json.NewDecoder(r.Body).Decode(&m)
		d := m.Data
		return fmt.Sprintf("%s %s %s %s: %s (%d of port %s) %s", m.Type, d.Kind, d.Root.Signature, d.Root.Entity, d.Title, len(d.Alerts), d.Alerts[0].Labels["port"], r.Header.Get("webhook-id")), err
	}
	hook, heard := told(t, incident)
	silent, nothing := told(t, func(r *http.Request) (string, error) { b, err := io.ReadAll(r.Body); return string(b), err })
	page, paged := told(t, func(r *http.Request) (string, error) {
		var m struct {
			Alerts []struct {
				Status      string
				Labels      map[string]string
				Annotations map[string]string
				StartsAt    time.Time
			}
		}
		err := json.NewDecoder(r.Body).Decode(&m)
		a := m.Alerts[0]
		return fmt.Sprintf("%s %s %s %s: %s, %v", a.Status, a.Labels["alertname"], a.Labels["name"], a.Labels["severity"], a.Annotations["summary"], time.Since(a.StartsAt) < time.Minute), err
	})
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yml")
	ends := time.Now().Add(20 * time.Second).Unix()
	text := fmt.Sprintf(`groups: [{name: ours, interval: 1s, rules: [{alert: DoorOpen, expr: 'label_replace(vector(1) and on () (vector(time()) < %d), "port", "eth12", "", "")',
  labels: {severity: critical, domain: network, kind: port, switch: leaf3, name: leaf3/eth12}, annotations: {summary: "The door of {{ $labels.port }} is open"}}]}]`, ends)
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file := config.Default()
	file.Data = filepath.Join(dir, "data")
	file.Store.RuleFiles = []string{rules}
	file.Notify.Receivers = []config.Receiver{{Name: "hook", Kinds: standard.Kinds{Webhook: &webhook.Settings{URL: hook}}, Alerts: true}, {Name: "silent", Kinds: standard.Kinds{Webhook: &webhook.Settings{URL: silent}}, Risks: true},
		{Name: "am", Kinds: standard.Kinds{Alertmanager: &alertmanager.Settings{URLs: []string{alertmanagerFor(t, page)}}}, Alerts: true}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{File: file, Roles: Roles{Store: true, Tick: true, Notify: true}, Process: "q1"})
	}()
	first := wanted(t, heard, "alert.opened alert DoorOpen port:leaf3/eth12: The door of eth12 is open (1 of port eth12) alert-")
	wanted(t, paged, "firing DoorOpen leaf3/eth12 critical: The door of eth12 is open, true")
	last := wanted(t, heard, "alert.resolved alert DoorOpen port:leaf3/eth12")
	if a, b := strings.Replace(first, ".1.hook", "", 1), strings.Replace(last, ".2.hook", "", 1); a[strings.LastIndex(a, " "):] != b[strings.LastIndex(b, " "):] {
		t.Errorf("one alert has two ids: %s, %s", first, last)
	}
	wanted(t, paged, "resolved DoorOpen leaf3/eth12 critical")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for len(nothing) > 0 {
		t.Errorf("who did not ask for alerts is told: %s", <-nothing)
	}
}
