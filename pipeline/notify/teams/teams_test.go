package teams_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/teams"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestConformance runs the contract over a connection to a server that answers as a
// workflow does, with 202.
func TestConformance(t *testing.T) {
	notifytest.Test(t, func(t *testing.T) notifytest.Far {
		s := notifytest.NewServer(t, 202)
		r, err := teams.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL+"/powerautomate/automations/direct/workflows/1/triggers/manual/paths/invoke?api-version=1&sig=secret")})
		if err != nil {
			t.Fatal(err)
		}
		received := func() (out []notifytest.Received) {
			for _, q := range s.Requests() {
				lines := shown(t, q.Body)
				out = append(out, notifytest.Received{ID: strings.TrimPrefix(lines[len(lines)-1], "TextBlock: "), Body: q.Body})
			}
			return out
		}
		return notifytest.Far{Notifier: r, Behave: s.Behave, Received: received}
	})
}

// shown is a message as a person sees it: actions, then elements, the last is the id.
func shown(t testing.TB, body []byte) (out []string) {
	t.Helper()
	var m struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Type, Version string
				Body          []struct {
					Type, Text, Color string
					Facts             []struct{ Title, Value string }
				}
				Actions []struct{ Type, Title, URL string }
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if m.Type != "message" || len(m.Attachments) != 1 || m.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" || m.Attachments[0].Content.Type != "AdaptiveCard" {
		t.Fatalf("no message with an Adaptive Card: %s", body)
	}
	c := m.Attachments[0].Content
	for _, a := range c.Actions {
		out = append(out, a.Type+": "+a.Title+" "+a.URL)
	}
	for _, e := range c.Body {
		line := e.Type + ": " + e.Text
		if e.Color != "" {
			line = e.Color + " " + line
		}
		for _, f := range e.Facts {
			line += "[" + f.Title + "|" + f.Value + "]"
		}
		out = append(out, line)
	}
	return out
}

// TestTheCard is an incident as a person sees it, and its end.
func TestTheCard(t *testing.T) {
	s := notifytest.NewServer(t, 202)
	r, err := teams.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL), Text: text.Config{Page: "https://quintet.example.org/"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, nil))
	got := strings.Join(shown(t, s.Requests()[0].Body), "\n---\n")
	want := strings.Join([]string{
		"Action.OpenUrl: Open https://quintet.example.org/incidents/inc-5f1c02d9a1b7e340",
		"Attention TextBlock: llama-70b is 3.8 times slower <!channel> & more",
		"FactSet: [Severity|critical][Domain|network][Root|nic:h13/nic0][Jobs|job:llama-70b]",
		"TextBlock: Root: nic:h13/nic0 (network, slow-receiver, confidence 93 %)\n\nDegraded: job:llama-70b; 2 GPU-h lost\n\n- nic:h13/nic0: port_pfc_tx_pause_seconds_total from 0 to 0.71 s/s\n\nDo: Drain h13.",
		"TextBlock: inc-5f1c02d9a1b7e340.3.far",
	}, "\n---\n")
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateResolved, nil))
	if over := shown(t, s.Requests()[1].Body); !strings.HasPrefix(over[1], "Good TextBlock: Resolved: ") {
		t.Error(over)
	}
}

// TestANote: a note is a line.
func TestANote(t *testing.T) {
	s := notifytest.NewServer(t, 202)
	r, err := teams.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL)})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), &notify.Message{ID: "inc-1.note-4.far", Type: notify.TypeNoted, Body: []byte(`{"type":"incident.noted","data":{"id":"inc-1","acknowledged":{"by":"ann","text":"*on it* [x](http://y)"},"assigned":null}}`)})
	if got := shown(t, s.Requests()[0].Body); len(got) != 2 || got[0] != `TextBlock: Acknowledged by ann: \*on it\* \[x\](http://y)` || got[1] != "TextBlock: inc-1.note-4.far" {
		t.Errorf("%q", got)
	}
}

// TestBounds: no message is longer than Teams takes.
func TestBounds(t *testing.T) {
	s := notifytest.NewServer(t, 202)
	r, err := teams.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL)})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, func(in *explain.Incident) {
		in.Title = strings.Repeat("ü[", 5000)
		for range 5000 {
			in.Chain = append(in.Chain, explain.Link{Entity: in.Root.Entity, Domain: telemetry.Network, Why: strings.Repeat("[ü]", 200)})
			in.Impact.Jobs = append(in.Impact.Jobs, in.Impact.Jobs[0])
		}
	}))
	if got := s.Requests(); len(got) != 1 || len(got[0].Body) > 28<<10 {
		t.Fatalf("%d messages", len(got))
	}
	shown(t, s.Requests()[0].Body)
}
