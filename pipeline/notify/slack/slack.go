package slack

import (
	"cmp"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/kind"
	"github.com/quintet-dc/quintet/pipeline/notify/post"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
)

// Slack's bounds (api.slack.com, blocks).
const (
	maxHeader  = 150  // characters of a header
	maxSection = 3000 // of a section's text
	maxField   = 2000
	maxText    = 4000 // of the text in addition to the blocks
)

// New makes a receiver, a channel.
func New(c kind.Channel) (*post.Sender, error) { return c.Open("slack", "api_url_file", body) }

// The form of a message.
type (
	message struct {
		Text        string       `json:"text"` // where blocks are not shown
		Attachments []attachment `json:"attachments"`
	}
	attachment struct {
		Color  string  `json:"color"`
		Blocks []block `json:"blocks"`
	}
	block struct {
		Type     string   `json:"type"`
		Text     *words   `json:"text,omitempty"`
		Fields   []*words `json:"fields,omitempty"`
		Elements []any    `json:"elements,omitempty"`
	}
	words struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	button struct {
		Type string `json:"type"`
		Text *words `json:"text"`
		URL  string `json:"url"`
	}
)

// body is a message as Slack reads it. It follows from m alone.
func body(m *notify.Message, t *text.Text) ([]byte, error) {
	if m.Type == notify.TypeNoted {
		return noted(m)
	}
	content, err := m.Read()
	if err != nil {
		return nil, err
	}
	v := t.View(content)
	title, prose, err := t.Render(v)
	if err != nil {
		return nil, err
	}
	blocks := []block{{Type: "header", Text: &words{"plain_text", text.Shorten(maxHeader, cmp.Or(title, "(no title)"))}}}
	var fields []*words
	for _, f := range [][2]string{{"Severity", v.Severity}, {"Domain", v.Domain}, {"Root", v.Root}, {"Jobs", strings.Join(v.Jobs, ", ")}} {
		if f[1] != "" {
			fields = append(fields, &words{"mrkdwn", text.Shorten(maxField, "*"+f[0]+"*\n"+escape(f[1]))})
		}
	}
	if len(fields) > 0 {
		blocks = append(blocks, block{Type: "section", Fields: fields})
	}
	if prose != "" {
		blocks = append(blocks, block{Type: "section", Text: &words{"mrkdwn", text.Shorten(maxSection, escape(prose))}})
	}
	if v.Link != "" {
		blocks = append(blocks, block{Type: "actions", Elements: []any{button{"button", &words{"plain_text", "Open"}, v.Link}}})
	}
	blocks = append(blocks, block{Type: "context", Elements: []any{words{"mrkdwn", escape(m.ID)}}})
	return post.JSON(message{Text: text.Shorten(maxText, escape(cmp.Or(title, "(no title)"))), Attachments: []attachment{{Color: colour(v), Blocks: blocks}}})
}

// noted is the message for a note on an incident.
func noted(m *notify.Message) ([]byte, error) {
	n, err := m.ReadNote()
	if err != nil {
		return nil, err
	}
	line := text.Shorten(maxSection, escape(n.Words()))
	return post.JSON(message{Text: line, Attachments: []attachment{{Color: "#56b4e9", Blocks: []block{
		{Type: "section", Text: &words{"mrkdwn", line}}, {Type: "context", Elements: []any{words{"mrkdwn", escape(m.ID)}}}}}}})
}

// colour returns the colour for state and severity, from a scale that is safe for
// colour-blind readers.
func colour(v *text.View) string {
	switch {
	case v.State == explain.StateResolved:
		return "#009e73"
	case v.Severity == explain.SeverityCritical:
		return "#d55e00"
	case v.Severity == explain.SeverityWarning:
		return "#e69f00"
	}
	return "#56b4e9"
}

// escape keeps text from being read as a link, a channel or a mention.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
