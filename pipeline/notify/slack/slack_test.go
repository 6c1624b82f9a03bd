package slack_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/slack"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestConformance(t *testing.T) {
	notifytest.Test(t, func(t *testing.T) notifytest.Far {
		s := notifytest.NewServer(t, 200)
		r, err := slack.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL+"/services/T0/B0/secret")})
		if err != nil {
			t.Fatal(err)
		}
		received := func() (out []notifytest.Received) {
			for _, q := range s.Requests() {
				out = append(out, notifytest.Received{ID: sent(t, q.Body).id, Body: q.Body})
			}
			return out
		}
		return notifytest.Far{Notifier: r, Behave: s.Behave, Received: received}
	})
}

// seen is a message as a person sees it.
type seen struct {
	id, text, colour string
	blocks           []string // type and text
}

func sent(t testing.TB, body []byte) seen {
	t.Helper()
	var m struct {
		Text        string
		Attachments []struct {
			Color  string
			Blocks []struct {
				Type     string
				Text     *struct{ Type, Text string }
				Fields   []struct{ Type, Text string }
				Elements []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	out := seen{text: m.Text, colour: m.Attachments[0].Color}
	for _, b := range m.Attachments[0].Blocks {
		line := b.Type + ":"
		if b.Text != nil {
			line += " " + b.Text.Text
		}
		for _, f := range b.Fields {
			line += " [" + f.Text + "]"
		}
		for _, e := range b.Elements {
			line += " " + string(e)
		}
		out.blocks = append(out.blocks, line)
	}
	var last struct{ Text string }
	blocks := m.Attachments[0].Blocks
	if err := json.Unmarshal(blocks[len(blocks)-1].Elements[0], &last); err != nil {
		t.Fatal(err)
	}
	out.id = last.Text
	return out
}

func TestWhatAPersonSees(t *testing.T) {
	s := notifytest.NewServer(t, 200)
	r, err := slack.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL), Text: text.Config{Page: "https://quintet.example.org/"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, nil))
	got := sent(t, s.Requests()[0].Body)
	want := []string{
		"header: llama-70b is 3.8 times slower <!channel> & more", // plain text: nobody is called
		"section: [*Severity*\ncritical] [*Domain*\nnetwork] [*Root*\nnic:h13/nic0] [*Jobs*\njob:llama-70b]",
		"section: Root: nic:h13/nic0 (network, slow-receiver, confidence 93 %)\nDegraded: job:llama-70b; 2 GPU-h lost\n- nic:h13/nic0: port_pfc_tx_pause_seconds_total from 0 to 0.71 s/s\nDo: Drain h13.",
		`actions: {"type":"button","text":{"type":"plain_text","text":"Open"},"url":"https://quintet.example.org/incidents/inc-5f1c02d9a1b7e340"}`,
		`context: {"type":"mrkdwn","text":"inc-5f1c02d9a1b7e340.3.far"}`,
	}
	if strings.Join(got.blocks, "\n---\n") != strings.Join(want, "\n---\n") || strings.Contains(got.text, "<!") {
		t.Errorf("%s\n%s", got.text, strings.Join(got.blocks, "\n---\n"))
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateResolved, nil))
	over := sent(t, s.Requests()[1].Body)
	if over.colour == got.colour || !strings.HasPrefix(over.text, "Resolved: ") {
		t.Errorf("%+v", over)
	}
}

func TestANote(t *testing.T) {
	s := notifytest.NewServer(t, 200)
	r, err := slack.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL)})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), &notify.Message{ID: "inc-1.note-4.far", Type: notify.TypeNoted, Body: []byte(`{"type":"incident.noted","data":{"id":"inc-1","acknowledged":{"by":"ann","text":"<on it>"},"assigned":null}}`)})
	if got := sent(t, s.Requests()[0].Body); got.text != "Acknowledged by ann: &lt;on it&gt;" || got.id != "inc-1.note-4.far" {
		t.Errorf("%+v", got)
	}
}

func TestBounds(t *testing.T) {
	s := notifytest.NewServer(t, 200)
	r, err := slack.New(kind.Channel{URLFile: notifytest.Secret(t, s.URL)})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, func(in *explain.Incident) {
		in.Title = strings.Repeat("ü<", 5000)
		for range 5000 {
			in.Chain = append(in.Chain, explain.Link{Entity: in.Root.Entity, Domain: telemetry.Network, Why: strings.Repeat("<ü>", 200)})
			in.Impact.Jobs = append(in.Impact.Jobs, in.Impact.Jobs[0])
		}
	}))
	got := sent(t, s.Requests()[0].Body)
	for i, b := range got.blocks {
		if n := utf8.RuneCountInString(b); n > 3100 || i == 0 && n > 160 || !utf8.ValidString(b) {
			t.Errorf("block %d has %d characters", i, n)
		}
	}
	if len(got.blocks) > 50 || len(got.text) > 8200 {
		t.Errorf("%d blocks, %d bytes of text", len(got.blocks), len(got.text))
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]kind.Channel{
		"no file":      {},
		"no such file": {URLFile: filepath.Join(t.TempDir(), "no")},
		"no address":   {URLFile: notifytest.Secret(t, "hidden")},
		"two lines":    {URLFile: notifytest.Secret(t, "http://127.0.0.1/hidden\nhttp://127.0.0.1/hidden")},
		"a template":   {URLFile: notifytest.Secret(t, "http://127.0.0.1/"), Text: text.Config{Title: "{{.Nothing}}"}},
	} {
		if _, err := slack.New(c); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
