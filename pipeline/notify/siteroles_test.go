package notify_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// TestWhatThePageAsksForByRole is a retry and a note over the real buckets: the
// page may ask for them, and the notifier may do them.
func TestWhatThePageAsksForByRole(t *testing.T) {
	s := serve(t, t.TempDir())
	engine, web := join(t, s, broker.All), join(t, s, broker.Web)
	if err := engine.Create(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	var open atomic.Bool
	heard := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !open.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		heard <- r.Header.Get("webhook-id") + " " + string(body)
	}))
	defer server.Close()
	hook, err := webhook.New(webhook.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	b := join(t, s, broker.Notify)
	defer start(t, notify.Config{Bus: b, Incidents: b.Incidents(), Name: "test", Retries: slices.Repeat([]time.Duration{5 * time.Millisecond}, 2),
		Receivers: []notify.Receiver{{Name: "ops", Notifier: hook, Notes: true}}})()
	begun(t, engine)
	in := incident{id: "inc-a"}
	in.publish(t, engine, opened)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ctx := within(t, 30*time.Second); ; {
		dead, err := deadOf(ctx, web)
		if err != nil {
			t.Fatal(err)
		}
		if len(dead) == 1 {
			break
		}
		<-look.C
	}
	open.Store(true)
	if _, err := notify.Retry(within(t, 10*time.Second), web, "inc-a.ops", "ann"); err != nil {
		t.Fatal(err)
	}
	hears := func(prefix, part string) {
		t.Helper()
		select {
		case got := <-heard:
			if !strings.HasPrefix(got, prefix) || !strings.Contains(got, part) {
				t.Errorf("%s", got)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s does not come", prefix)
		}
	}
	hears("inc-a.1.ops ", `"incident.opened"`)
	notes, err := web.KeyValue(within(t, 10*time.Second), bus.Notes)
	if err != nil {
		t.Fatal(err)
	}
	at, err := notes.Put(within(t, 10*time.Second), "inc-a", []byte(`{"acknowledged":{"by":"ann","at":"2026-11-21T12:00:00Z","text":""}}`))
	if err != nil {
		t.Fatal(err)
	}
	hears(fmt.Sprintf("inc-a.note-%d.ops ", at), `"acknowledged":{"by":"ann"`)
	deliveries, err := web.KeyValue(within(t, 10*time.Second), bus.Deliveries)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deliveries.Put(within(t, 5*time.Second), "delivery.inc-a.ops", []byte("{}")); err == nil {
		t.Error("the page may deliver")
	}
}
