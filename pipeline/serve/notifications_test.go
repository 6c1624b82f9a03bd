package serve

import (
	"net/http"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// TestNotifications lists the notifiers' deliveries, and retries a dead one.
func TestNotifications(t *testing.T) {
	s := newSite()
	s.others[bus.Deliveries] = newBucket()
	for key, value := range map[string]string{
		"delivery.inc-1.ops":   `{"incident":"inc-1","receiver":"ops","revision":2,"settled":2,"attempt":1,"state":"settled","outcome":"delivered","at":"2026-11-21T11:00:00Z","log":[{"revision":1,"at":"2026-11-21T10:59:00Z","outcome":"silenced","held":true,"why":"silenced by sil-1"},{"revision":2,"at":"2026-11-21T11:00:00Z","outcome":"delivered"}]}`,
		"delivery.inc-1.pager": `{"incident":"inc-1","receiver":"pager","revision":2,"settled":2,"attempt":17,"state":"settled","outcome":"dead","at":"2026-11-21T11:30:00Z","reason":"it answered 500"}`,
		"delivery.inc-2.ops":   `{"incident":"inc-2","receiver":"ops","revision":1,"settled":0,"attempt":0,"state":"held","outcome":"inhibited","at":"2026-11-21T10:00:00Z","reason":"suppressed by inc-1"}`,
		"receiver.ops":         `{"start":1}`,
	} {
		s.others[bus.Deliveries].store(key, []byte(value))
	}
	r := run(t, s, Config{})
	for path, want := range map[string][]string{
		"":                        {"inc-1.pager", "inc-1.ops", "inc-2.ops"},
		"?incident=inc-1":         {"inc-1.pager", "inc-1.ops"},
		"?receiver=ops":           {"inc-1.ops", "inc-2.ops"},
		"?state=dead":             {"inc-1.pager"},
		"?state=held":             {"inc-2.ops"},
		"?incident=inc-9":         {},
		"?state=settled&limit=1":  {"inc-1.pager"},
		"?state=all&receiver=ops": {"inc-1.ops", "inc-2.ops"},
	} {
		var got struct{ Notifications []delivered }
		r.read("/api/v1/notifications"+path, &got)
		ids := []string{}
		for _, d := range got.Notifications {
			ids = append(ids, d.ID)
		}
		if len(ids) != len(want) {
			t.Errorf("%s: %v", path, ids)
			continue
		}
		for i := range want {
			if ids[i] != want[i] {
				t.Errorf("%s: %v", path, ids)
			}
		}
	}
	for id, want := range map[string]int{"inc-1.pager": 200, "inc-1.ops": 409, "inc-9.ops": 404, "x": 404} {
		var got map[string]any
		if code := r.post("/api/v1/notifications/"+id+"/retry", `{"by":"ann"}`, &got); code != want {
			t.Errorf("%s: %d, %v", id, code, got)
		}
	}
	if _, err := s.others[bus.Deliveries].Get(t.Context(), "retry.inc-1.pager"); err != nil {
		t.Error("nobody is asked: ", err)
	}
	if code := r.post("/api/v1/notifications/inc-1.pager/retry", `{"colour":1}`, new(map[string]any)); code != http.StatusBadRequest {
		t.Errorf("%d", code)
	}
}
