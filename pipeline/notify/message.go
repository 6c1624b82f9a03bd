package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// The types of message.
const (
	TypeOpened   = "incident.opened"
	TypeUpdated  = "incident.updated"
	TypeResolved = "incident.resolved"
)

// revision is what must be known of a stored revision to tell it.
type revision struct {
	ID       string `json:"id"`
	Number   int    `json:"revision"`
	State    string `json:"state"`
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Updated  string `json:"updated"`

	sequence uint64
	updated  telemetry.Time
	data     []byte // as stored
}

// incidentID is what may stand in a key and in a header.
var incidentID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// parse reads a stored revision. An error means that nobody can be told of it.
func parse(r bus.Revision) (*revision, error) {
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
		return fail(fmt.Errorf("it says that it is %.40s.%d", out.ID, out.Number))
	case out.Number < 1:
		return fail(fmt.Errorf("numbers begin with 1"))
	case out.State != explain.StateOpen && out.State != explain.StateResolved:
		return fail(fmt.Errorf("state %.20q", out.State))
	}
	if err := out.updated.UnmarshalText([]byte(out.Updated)); err != nil {
		return fail(fmt.Errorf("updated: %w", err))
	}
	return &out, nil
}

func (r *revision) resolved() bool { return r.State == explain.StateResolved }

// kind returns the type of the message that tells r.
func (r *revision) messageType() string {
	switch {
	case r.resolved():
		return TypeResolved
	case r.Number == 1:
		return TypeOpened
	}
	return TypeUpdated
}

// message returns what a receiver is told of r. It follows from the stored
// bytes and the receiver's name, but for the count of attempts.
func (r *revision) message(receiver string, attempt int) *Message {
	stamp, err := json.Marshal(r.Updated)
	if err != nil { // cannot happen: it is a string
		stamp = []byte(`""`)
	}
	body := make([]byte, 0, len(r.data)+128)
	body = append(body, `{"type":"`+r.messageType()+`","timestamp":`...)
	body = append(body, stamp...)
	body = append(body, `,"data":`...)
	body = append(body, r.data...)
	body = append(body, '}')
	return &Message{ID: r.ID + "." + strconv.Itoa(r.Number) + "." + receiver, Type: r.messageType(), Body: body, Attempt: attempt}
}
