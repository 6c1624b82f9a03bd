package teams

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// Bounds of a card. A message of more than 28 KB is refused by Teams.
const (
	maxTitle = 256      // characters
	maxFact  = 256      // characters of a fact's value
	maxProse = 10 << 10 // bytes of the text
	maxTotal = 28 << 10 // bytes of the message
)

// New makes a receiver, a channel, whose workflow answers 202 Accepted.
func New(c kind.Channel) (*post.Sender, error) { return c.Open("teams", "webhook_url_file", body) }

// The form of a message: an Adaptive Card of version 1.4 as its attachment.
type (
	message struct {
		Type        string       `json:"type"`
		Attachments []attachment `json:"attachments"`
	}
	attachment struct {
		ContentType string `json:"contentType"`
		Content     card   `json:"content"`
	}
	card struct {
		Schema  string            `json:"$schema"`
		Type    string            `json:"type"`
		Version string            `json:"version"`
		Teams   map[string]string `json:"msteams"`
		Body    []element         `json:"body"`
		Actions []action          `json:"actions,omitempty"`
	}
	element struct {
		Type   string `json:"type"`
		Text   string `json:"text,omitempty"`
		Size   string `json:"size,omitempty"`
		Weight string `json:"weight,omitempty"`
		Color  string `json:"color,omitempty"`
		Subtle bool   `json:"isSubtle,omitempty"`
		Wrap   bool   `json:"wrap,omitempty"`
		Facts  []fact `json:"facts,omitempty"`
	}
	fact struct {
		Title string `json:"title"`
		Value string `json:"value"`
	}
	action struct {
		Type  string `json:"type"`
		Title string `json:"title"`
		URL   string `json:"url"`
	}
)

// body is a message as Teams reads it. It follows from m alone.
func body(m *notify.Message, t *text.Text) ([]byte, error) {
	if m.Type == notify.TypeNoted {
		n, err := m.ReadNote()
		if err != nil {
			return nil, err
		}
		return encode([]element{prose(n.Words()), id(m)}, nil)
	}
	in, err := m.Read()
	if err != nil {
		return nil, err
	}
	v := t.View(in)
	title, body, err := t.Render(v)
	if err != nil {
		return nil, err
	}
	elements := []element{{Type: "TextBlock", Text: text.Shorten(maxTitle, escape(cmp.Or(title, "(no title)"))), Size: "Large", Weight: "Bolder", Color: colour(v), Wrap: true}}
	var facts []fact
	for _, f := range []fact{{"Severity", v.Severity}, {"Domain", v.Domain}, {"Root", v.Root}, {"Jobs", strings.Join(v.Jobs, ", ")}} {
		if f.Value != "" {
			facts = append(facts, fact{f.Title, text.Shorten(maxFact, escape(f.Value))})
		}
	}
	if len(facts) > 0 {
		elements = append(elements, element{Type: "FactSet", Facts: facts})
	}
	if body != "" {
		elements = append(elements, prose(body))
	}
	var open []action
	if v.Link != "" {
		open = []action{{"Action.OpenUrl", "Open", v.Link}}
	}
	return encode(append(elements, id(m)), open)
}

// prose is a text of several lines. Teams shows a line break only where a blank line is.
func prose(s string) element {
	s = strings.ReplaceAll(strings.TrimRight(escape(s), "\n"), "\n", "\n\n")
	return element{Type: "TextBlock", Text: text.Cut(maxProse, s), Wrap: true}
}

// id is the message's, by which repeated ones are recognised.
func id(m *notify.Message) element {
	return element{Type: "TextBlock", Text: m.ID, Size: "Small", Subtle: true, Wrap: true}
}

func encode(elements []element, actions []action) ([]byte, error) {
	out, err := post.JSON(message{"message", []attachment{{"application/vnd.microsoft.card.adaptive", card{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Teams: map[string]string{"width": "Full"}, Body: elements, Actions: actions}}}})
	if err == nil && len(out) > maxTotal {
		err = fmt.Errorf("message of %d bytes, at most %d", len(out), maxTotal)
	}
	return out, err
}

// colour returns the style for state and severity.
func colour(v *text.View) string {
	switch {
	case v.State == explain.StateResolved:
		return "Good"
	case v.Severity == explain.SeverityCritical:
		return "Attention"
	case v.Severity == explain.SeverityWarning:
		return "Warning"
	}
	return "Accent"
}

// escape keeps text from being read as a link, as emphasis or as a macro of a date.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "[", `\[`, "]", `\]`, "{{", "{ {").Replace(s)
}
