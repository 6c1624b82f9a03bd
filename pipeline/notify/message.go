package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// The types of message.
const (
	TypeOpened   = "incident.opened"
	TypeUpdated  = "incident.updated"
	TypeResolved = "incident.resolved"

	TypeAlertOpened   = "alert.opened"
	TypeAlertUpdated  = "alert.updated"
	TypeAlertResolved = "alert.resolved"
)

// KindAlert is the kind of a group of alerts of the built-in rules, which is sent
// in the form of an incident (package raise); AlertPrefix begins the id of one.
const (
	KindAlert   = "alert"
	AlertPrefix = "alert-"
)

// revision has the fields of a stored revision that are needed to send it.
type revision struct {
	ID       string `json:"id"`
	Number   int    `json:"revision"`
	State    string `json:"state"`
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Updated  string `json:"updated"`

	sequence    uint64
	updated     telemetry.Time
	opened      telemetry.Time
	data        []byte // as stored
	*properties        // nil where the rest cannot be read
}

// properties has the properties of a revision that decide which receivers are
// notified.
type properties struct {
	facts    match.Facts
	root     telemetry.Entity
	flap     flapKey
	jobs     []telemetry.Entity
	chain    []telemetry.Entity
	entities []telemetry.Entity
	content  string // what it states without figures; empty of a group of alerts
}

// read parses a stored revision for notification. A revision that cannot be parsed is
// sent all the same.
func read(data []byte, owners []match.Owner) (*properties, telemetry.Time) {
	var in explain.Incident
	if json.Unmarshal(data, &in) != nil {
		return nil, 0
	}
	return propertiesOf(&in, owners), in.Opened
}

// propertiesOf returns the properties of an incident.
func propertiesOf(in *explain.Incident, owners []match.Owner) *properties {
	t := &properties{facts: FactsOf(in, owners), root: in.Root.Entity, entities: in.Impact.Entities}
	for _, j := range in.Impact.Jobs {
		t.jobs = append(t.jobs, j.Job)
	}
	for _, l := range in.Chain {
		t.chain = append(t.chain, l.Entity)
	}
	if in.Kind != KindAlert {
		t.content = contentOf(in)
	}
	t.flap = flapKey{root: t.root, signature: in.Root.Signature}
	if len(t.jobs) > 0 {
		t.flap.job = t.jobs[0]
	}
	return t
}

// FactsOf is what matchers see of an incident or of a group of alerts.
func FactsOf(in *explain.Incident, owners []match.Owner) match.Facts {
	f, root := match.Owned(match.Of(in), owners), in.Root.Entity
	if in.Kind == KindAlert && root.Kind == telemetry.Job {
		f = f.With(match.Job, root.Name, root.String())
	}
	return f
}

// bare returns the part of r that the board keeps.
func (r *revision) bare() *revision {
	out := *r
	out.data = nil
	return &out
}

// incidentID matches ids that are valid in a key and in a header.
var incidentID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// parse reads a stored revision. An error means that it cannot be sent to any
// receiver.
func parse(r bus.Revision, owners []match.Owner) (*revision, error) {
	out := revision{sequence: r.Sequence, data: bytes.TrimSpace(r.Data)}
	fail := func(err error) (*revision, error) {
		return nil, fmt.Errorf("revision %.40s.%d: %w", r.ID, r.Number, err)
	}
	if err := json.Unmarshal(r.Data, &out); err != nil {
		return fail(err)
	}
	switch {
	case !incidentID.MatchString(r.ID):
		return fail(fmt.Errorf("id %.40q: want letters, digits, '-' and '_'", r.ID))
	case out.ID != r.ID || out.Number != r.Number:
		return fail(fmt.Errorf("its content has the identity %.40s.%d", out.ID, out.Number))
	case out.Number < 1:
		return fail(fmt.Errorf("numbers begin with 1"))
	case out.State != explain.StateOpen && out.State != explain.StateResolved:
		return fail(fmt.Errorf("state %.20q", out.State))
	}
	if err := out.updated.UnmarshalText([]byte(out.Updated)); err != nil {
		return fail(fmt.Errorf("updated: %w", err))
	}
	out.properties, out.opened = read(r.Data, owners)
	return &out, nil
}

func (r *revision) alert() bool { return r.Kind == KindAlert }

func (r *revision) resolved() bool { return r.State == explain.StateResolved }

// messageType returns the type of the message for r.
func (r *revision) messageType() string {
	switch {
	case r.alert() && r.resolved():
		return TypeAlertResolved
	case r.alert() && r.Number == 1:
		return TypeAlertOpened
	case r.alert():
		return TypeAlertUpdated
	case r.resolved():
		return TypeResolved
	case r.Number == 1:
		return TypeOpened
	}
	return TypeUpdated
}

// message returns the message for a receiver about r. It follows from the stored
// bytes, the receiver's name and the notice that was claimed with it, but for the
// count of attempts.
func (r *revision) message(receiver string, d Delivery) *Message {
	stamp, err := json.Marshal(r.Updated)
	if err != nil { // cannot happen: it is a string
		stamp = []byte(`""`)
	}
	body := make([]byte, 0, len(r.data)+128)
	body = append(body, `{"type":"`+r.messageType()+`","timestamp":`...)
	body = append(body, stamp...)
	body = append(body, `,"data":`...)
	body = append(body, r.data...)
	if d.Notice != "" {
		if notice, err := json.Marshal(d.Notice); err == nil { // a string is always written
			body = append(append(body, `,"notice":`...), notice...)
		}
	}
	body = append(body, '}')
	return &Message{ID: r.ID + "." + strconv.Itoa(r.Number) + "." + receiver, Type: r.messageType(), Body: body, Attempt: d.Attempt}
}

// Content is the content of a message, as its receiver reads it.
type Content struct {
	Type      string           `json:"type"`
	Timestamp string           `json:"timestamp"`
	Data      explain.Incident `json:"data"`
	Notice    string           `json:"notice"`
	// Alerts are the alerts of a group, where it is one.
	Alerts []RuleAlert `json:"-"`
}

// RuleAlert is one alert of a rule, as Prometheus has it.
type RuleAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    telemetry.Time    `json:"starts_at"`
	// Expr is the rule's expression, and Value what it came to when the group was
	// raised; a value that JSON cannot carry is left out.
	Expr  string   `json:"expr,omitempty"`
	Value *float64 `json:"value,omitempty"`
}

// Resolved reports whether the incident of the message has ended.
func (t *Content) Resolved() bool { return t.Data.State == explain.StateResolved }

// Read returns the content of m, for kinds of receivers with their own formats.
func (m *Message) Read() (*Content, error) {
	var t Content
	if err := json.Unmarshal(m.Body, &t); err != nil {
		return nil, fmt.Errorf("message %s: %w", m.ID, err)
	}
	if t.Data.Kind == KindAlert {
		var more struct {
			Data struct {
				Alerts []RuleAlert `json:"alerts"`
			} `json:"data"`
		}
		if err := json.Unmarshal(m.Body, &more); err != nil {
			return nil, fmt.Errorf("message %s: %w", m.ID, err)
		}
		t.Alerts = more.Data.Alerts
	}
	return &t, nil
}
