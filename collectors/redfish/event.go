package redfish

import (
	"cmp"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// happening is an event, or an entry of a log.
type happening struct {
	id       string
	text     string // message and arguments
	severity string
	origin   string // path of what it is about
	at       time.Time
}

// maxText is the longest text of an event that is carried.
const maxText = 300

// readHappenings lists the events of an event's payload, and the entries of a
// log.
func readHappenings(doc map[string]any) (out []happening) {
	for _, name := range []string{"Events", "Members"} {
		list, _ := doc[name].([]any)
		for _, x := range list {
			m, ok := x.(map[string]any)
			if !ok || len(out) >= maxRows {
				continue
			}
			h := happening{severity: cmp.Or(textAt(m, "Severity"), textAt(m, "MessageSeverity")), at: parseTime(cmp.Or(textAt(m, "EventTimestamp"), textAt(m, "Created")))}
			h.id = cmp.Or(textAt(m, "EventId"), textAt(m, "Id"), textAt(m, "@odata.id"))
			h.text = textAt(m, "Message")
			if args, ok := m["MessageArgs"].([]any); ok {
				for _, a := range args {
					if s, ok := word(a); ok && !strings.Contains(h.text, s) {
						h.text += " " + s
					}
				}
			}
			if textAt(m, "Message") == "" {
				h.text = textAt(m, "MessageId") + h.text
			}
			h.text = clip(strings.Join(strings.Fields(cmp.Or(h.text, h.id)), " "), maxText)
			// Some firmware writes the path, some a reference, and a log's entry
			// keeps it with its links.
			for _, o := range []any{m["OriginOfCondition"], m["Links"]} {
				switch o := o.(type) {
				case string:
					h.origin = cmp.Or(h.origin, o)
				case map[string]any:
					h.origin = cmp.Or(h.origin, link(o), link(o["OriginOfCondition"]))
				}
			}
			if h.text != "" {
				out = append(out, h)
			}
		}
	}
	return out
}

// name returns an event's name and text; false where it is not a problem, and
// nothing in the mapping asks for it.
func (m *library) name(h *happening) (telemetry.EventName, string, bool) {
	for i := range m.notices {
		n := &m.notices[i]
		if n.Text.Regexp == nil {
			if h.severity == "OK" || h.severity == "Informational" || h.severity == "" {
				continue
			}
			return n.Event, h.text, true
		}
		if at := n.Text.FindStringSubmatchIndex(h.text); at != nil {
			text := h.text
			if n.Format != "" {
				text = string(n.Text.ExpandString(nil, n.Format, h.text, at))
				if text != h.text {
					text = clip(text+": "+h.text, maxText)
				}
			}
			return n.Event, text, true
		}
	}
	return "", "", false
}

// about returns the entity of an event: that of the mapping for the resource that
// it names or of one above it, else the service's own entity.
func (v *view) about(origin string) telemetry.Entity {
	p, _, _ := strings.Cut(origin, "#")
	for p = clean(p); len(p) > len(root); p = p[:strings.LastIndexByte(p, '/')] {
		parts, ok := split(p)
		if !ok {
			break
		}
		for i := range v.rules.rules {
			r := &v.rules.rules[i]
			if captures, ok := v.governs(r, parts); ok && r.Each == nil {
				if e, ok := v.entityOf(r, p, &scope{self: v.self, captures: captures}); ok && e != v.self {
					return e
				}
			}
		}
	}
	return v.self
}
