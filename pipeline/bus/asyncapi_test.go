package bus

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAsyncAPINamesTheSubjectsOfTheCode holds docs/asyncapi.json against what the
// streams of the log, of incidents and of alerts take in.
func TestAsyncAPINamesTheSubjectsOfTheCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		AsyncAPI string
		Channels map[string]struct {
			Address, Description string
			Parameters           map[string]json.RawMessage
			Messages             map[string]struct {
				Ref string `json:"$ref"`
			}
		}
		Operations map[string]struct {
			Action  string
			Channel struct {
				Ref string `json:"$ref"`
			}
		}
		Components struct{ Parameters, Messages map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	n, err := NamesOf("SITE")
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]string{}
	for _, subject := range n.logSubjects() {
		streams[subject] = n.Log()
	}
	streams[n.Revisions()], streams[n.AlertRevisions()] = n.Incidents(), n.Alerts()
	var read []string
	for _, o := range d.Operations {
		if o.Action != "receive" {
			t.Errorf("%s: action %s: others only read", o.Channel.Ref, o.Action)
		}
		read = append(read, strings.TrimPrefix(o.Channel.Ref, "#/channels/"))
	}
	slices.Sort(read)
	if want := slices.Sorted(maps.Keys(d.Channels)); !slices.Equal(read, want) {
		t.Errorf("operations read %v, want %v", read, want)
	}
	documented := map[string]bool{}
	for name, c := range d.Channels {
		subject := strings.ReplaceAll(c.Address, "{site}", "SITE")
		for p := range c.Parameters {
			if !strings.Contains(c.Address, "{"+p+"}") {
				t.Errorf("%s: parameter %s is not in the address", name, p)
			}
			subject = strings.ReplaceAll(subject, "{"+p+"}", "*")
		}
		documented[subject] = true
		if stream := streams[subject]; stream == "" || !strings.Contains(c.Description, "Stream "+stream) {
			t.Errorf("%s: subject %s is of stream %q; the description is %q", name, subject, stream, c.Description)
		}
		for _, m := range c.Messages {
			if _, ok := d.Components.Messages[strings.TrimPrefix(m.Ref, "#/components/messages/")]; !ok {
				t.Errorf("%s: no message %s", name, m.Ref)
			}
		}
	}
	for subject := range streams {
		if !documented[subject] {
			t.Errorf("subject %s is not described", subject)
		}
	}
	if d.AsyncAPI != "3.0.0" {
		t.Errorf("asyncapi: %q", d.AsyncAPI)
	}
}
