package alertmanager_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/alertmanager"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// noon is ten hours after the incident.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// alert is one as Alertmanager reads it.
type alert struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
	GeneratorURL        string
}

func sent(t testing.TB, body []byte) (out []alert) {
	t.Helper()
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return out
}

func open(t testing.TB, now *time.Time, urls ...string) *alertmanager.Alertmanager {
	t.Helper()
	a, err := alertmanager.New(alertmanager.Config{URLs: urls, Labels: map[string]string{"cluster": "a"}, Text: text.Config{Page: "https://q"}, Post: post.Config{Now: func() time.Time { return *now }}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestConformance(t *testing.T) {
	notifytest.Test(t, func(t *testing.T) notifytest.Far {
		s, now := notifytest.NewServer(t, 200), noon
		received := func() (out []notifytest.Received) {
			for _, q := range s.Requests() {
				a := sent(t, q.Body)[0]
				// An alert carries no id: it is known by its incident and revision.
				out = append(out, notifytest.Received{ID: a.Labels["incident"] + a.Annotations["revision"], Body: q.Body})
			}
			return out
		}
		return notifytest.Far{Notifier: open(t, &now, s.URL), Behave: s.Behave, Received: received, Anonymous: true}
	})
}

func TestLabelsAndLife(t *testing.T) {
	s, now := notifytest.NewServer(t, 200), noon
	a := open(t, &now, s.URL+"/am/")
	a.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, nil))
	q := s.Requests()[0]
	got := sent(t, q.Body)[0]
	want := map[string]string{"alertname": "QuintetSlowReceiver", "severity": "critical", "kind": "incident", "domain": "network", "signature": "slow-receiver", "job": "llama-70b", "root": "nic:h13/nic0",
		"incident": "inc-5f1c02d9a1b7e340", "site": "lab", "cluster": "a"}
	if q.Path != "/am/api/v2/alerts" || !maps.Equal(got.Labels, want) || !got.StartsAt.Equal(time.Date(2026, 11, 21, 2, 47, 0, 0, time.UTC)) || !got.EndsAt.Equal(noon.Add(4*time.Minute)) ||
		got.GeneratorURL != "https://q/incidents/inc-5f1c02d9a1b7e340" || !strings.Contains(got.Annotations["description"], "Drain h13") || got.Annotations["summary"] == "" {
		t.Errorf("%s %+v", q.Path, got)
	}
	// Another severity is another alert there: the one of before is ended.
	now = now.Add(time.Minute)
	a.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, func(in *explain.Incident) { in.Severity = explain.SeverityWarning }))
	both := sent(t, s.Requests()[1].Body)
	if len(both) != 2 || !both[0].EndsAt.Equal(now) || both[0].Labels["severity"] != "critical" || !both[1].EndsAt.Equal(now.Add(4*time.Minute)) || both[1].Labels["severity"] != "warning" {
		t.Errorf("%+v", both)
	}
	now = now.Add(time.Minute)
	a.Notify(t.Context(), notifytest.Incident(t, explain.StateResolved, func(in *explain.Incident) { in.Severity = explain.SeverityWarning }))
	over := sent(t, s.Requests()[2].Body)
	if len(over) != 1 || over[0].EndsAt.After(now) || !maps.Equal(over[0].Labels, both[1].Labels) {
		t.Errorf("%+v", over)
	}
}

// TestAlertsOfARule go out one by one as Prometheus would send them; who leaves
// the group has an end, and so have all when it is over.
func TestAlertsOfARule(t *testing.T) {
	s, now := notifytest.NewServer(t, 200), noon
	a := open(t, &now, s.URL)
	lines := func() (out []string) {
		all := s.Requests()
		for _, x := range sent(t, all[len(all)-1].Body) {
			if x.Labels["alertname"] != "LinkDown" || x.Labels["severity"] != "page" || x.Labels["cluster"] != "a" || len(x.Labels) != 5 || x.Annotations["quintet_alert"] == "" ||
				!x.StartsAt.Equal(time.Date(2026, 11, 21, 2, 46, 30, 0, time.UTC)) {
				t.Errorf("%+v", x)
			}
			state := "ended"
			if x.EndsAt.Equal(now.Add(4 * time.Minute)) {
				state = "on"
			}
			out = append(out, x.Labels["port"]+" "+state+": "+x.Annotations["summary"])
		}
		return out
	}
	want := func(lines []string, want ...string) {
		t.Helper()
		if !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
	a.Notify(t.Context(), notifytest.Alerts(t, explain.StateOpen, 1, "eth1", "eth2"))
	want(lines(), "eth1 on: port eth1 is down", "eth2 on: port eth2 is down")
	now = now.Add(time.Minute)
	next := notifytest.Alerts(t, explain.StateOpen, 2, "eth2", "eth3")
	a.Notify(t.Context(), next)
	want(lines(), "eth1 ended: port eth1 is down", "eth2 on: port eth2 is down", "eth3 on: port eth3 is down")
	now = now.Add(time.Minute)
	a.Remind(t.Context(), []*notify.Message{next})
	want(lines(), "eth2 on: port eth2 is down", "eth3 on: port eth3 is down")
	a.Notify(t.Context(), notifytest.Alerts(t, explain.StateResolved, 3, "eth2", "eth3"))
	want(lines(), "eth2 ended: port eth2 is down", "eth3 ended: port eth3 is down")
}

// TestReminders keep open incidents alive, and nothing that has ended.
func TestReminders(t *testing.T) {
	s, now := notifytest.NewServer(t, 200), noon
	a := open(t, &now, s.URL)
	m := notifytest.Incident(t, explain.StateOpen, nil)
	a.Notify(t.Context(), m)
	now = now.Add(time.Minute)
	if x := a.Remind(t.Context(), []*notify.Message{m}); x.Verdict != notify.Taken {
		t.Errorf("%+v", x)
	}
	again := sent(t, s.Requests()[1].Body)
	if len(again) != 1 || !again[0].EndsAt.Equal(now.Add(4*time.Minute)) || !maps.Equal(again[0].Labels, sent(t, s.Requests()[0].Body)[0].Labels) || a.RemindEvery() != time.Minute {
		t.Errorf("%+v", again)
	}
	a.Notify(t.Context(), notifytest.Incident(t, explain.StateResolved, nil))
	a.Remind(t.Context(), []*notify.Message{m}) // it was on its way when the end came
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests: something was reminded of that had ended", n)
	}
}

// TestPeers checks that all peers are sent to, and that one that accepts is enough.
func TestPeers(t *testing.T) {
	one, two, now := notifytest.NewServer(t, 200), notifytest.NewServer(t, 200), noon
	a := open(t, &now, one.URL, two.URL)
	for _, c := range []struct {
		first, second notifytest.Way
		want          notify.Verdict
	}{
		{notifytest.Accepts, notifytest.Accepts, notify.Taken}, {notifytest.Refuses, notifytest.Accepts, notify.Taken}, {notifytest.Accepts, notifytest.BreaksOff, notify.Taken},
		{notifytest.Refuses, notifytest.BreaksOff, notify.NoAnswer}, {notifytest.Leaves, notifytest.Refuses, notify.Refused}, {notifytest.Leaves, notifytest.Leaves, notify.Gone},
	} {
		one.Behave(c.first)
		two.Behave(c.second)
		before := len(one.Requests()) + len(two.Requests())
		if x := a.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, nil)); x.Verdict != c.want {
			t.Errorf("%v and %v: %+v", c.first, c.second, x)
		}
		if n := len(one.Requests()) + len(two.Requests()) - before; n != 2 {
			t.Errorf("%d requests", n)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]alertmanager.Config{
		"nobody":    {},
		"no scheme": {URLs: []string{"am:9093"}},
		"a query":   {URLs: []string{"http://am:9093/?x=1"}},
		"ours":      {URLs: []string{"http://am:9093"}, Labels: map[string]string{"severity": "x"}},
		"a name":    {URLs: []string{"http://am:9093"}, Labels: map[string]string{"a b": "x"}},
		"hurry":     {URLs: []string{"http://am:9093"}, Resend: time.Millisecond},
		"a token":   {URLs: []string{"http://am:9093"}, Authorization: dial.Authorization{CredentialsFile: filepath.Join(t.TempDir(), "no")}},
	} {
		if _, err := alertmanager.New(c); err == nil {
			t.Error(name)
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := notifytest.NewServer(t, 200)
	a, err := alertmanager.New(alertmanager.Config{URLs: []string{s.URL}, Authorization: dial.Authorization{CredentialsFile: token}})
	if err != nil {
		t.Fatal(err)
	}
	a.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, nil))
	if got := s.Requests()[0].Header.Get("Authorization"); got != "Bearer hidden" {
		t.Error(got)
	}
}
