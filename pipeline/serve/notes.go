package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/pin"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of people's notes.
const (
	maxNoteBody = 16 << 10
	maxNoteText = 4000
	maxNoteBy   = 200
	maxNotes    = 2 * maxIncidents // kept in memory
)

// personNote is one note of a person on an incident.
type personNote struct {
	Verdict string         `json:"verdict,omitempty"`
	By      string         `json:"by"`
	At      telemetry.Time `json:"at"`
	Text    string         `json:"text"`
	To      string         `json:"to,omitempty"`     // whom it is assigned to
	Action  string         `json:"action,omitempty"` // what was done
	// Entity and Signature are the right answer instead, if given.
	Entity    telemetry.Entity `json:"entity,omitzero"`
	Signature string           `json:"signature,omitempty"`
}

// note holds the notes on one incident. Nil: none.
type note struct {
	Acknowledged *personNote `json:"acknowledged"`
	Verdict      *personNote `json:"verdict"`
	Assigned     *personNote `json:"assigned"`
	Done         *personNote `json:"done,omitempty"` // the last action that was done
}

// noteView is a note with the reason for which the incident's messages are withheld now.
type noteView struct {
	note
	SilencedBy []string `json:"silenced_by"`
}

// verdicts are the possible verdicts on an answer.
var verdicts = [...]string{"right", "partly", "wrong"}

// notebook keeps the notes of all incidents, as the bucket has them.
type notebook struct {
	bucket  *bus.Follower
	log     *slog.Logger
	changed func(id string) // called when a note has changed, not at the start

	mu   sync.Mutex
	byID map[string]note
}

func newNotebook(b Bus, log *slog.Logger, changed func(string)) *notebook {
	return &notebook{bucket: bus.NewFollower(b, Notes, log), log: log, changed: changed, byID: map[string]note{}}
}

// run follows the bucket until ctx is done.
func (n *notebook) run(ctx context.Context) {
	begun := false // what was there is read
	n.bucket.Run(ctx, func() { begun = true }, func(e jetstream.KeyValueEntry) { n.handleEntry(e, begun) })
}

// handleEntry processes an entry of the bucket, and reports it if notify is set and it is
// new: after an interruption all entries are received again.
func (n *notebook) handleEntry(e jetstream.KeyValueEntry, notify bool) {
	var x note
	if e.Operation() == jetstream.KeyValuePut {
		if err := json.Unmarshal(e.Value(), &x); err != nil {
			n.log.Warn("a note that cannot be read", "incident", e.Key(), "error", err)
			return
		}
	}
	id := e.Key()
	n.mu.Lock()
	old, known := n.byID[id]
	switch {
	case x == note{}:
		delete(n.byID, id)
	case known || len(n.byID) < maxNotes:
		n.byID[id] = x
	}
	n.mu.Unlock()
	if notify && !old.equal(x) {
		n.changed(id)
	}
}

func (n note) equal(o note) bool {
	return n.Acknowledged.equal(o.Acknowledged) && n.Verdict.equal(o.Verdict) && n.Assigned.equal(o.Assigned) && n.Done.equal(o.Done)
}

func (s *personNote) equal(o *personNote) bool { return s == o || s != nil && o != nil && *s == *o }

// of returns the notes on an incident.
func (n *notebook) of(id string) note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byID[id]
}

// change applies a change to an incident's note, whatever others do meanwhile.
func (n *notebook) change(ctx context.Context, id string, set func(*note)) (x note, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err = n.bucket.Change(ctx, id, func(old []byte) ([]byte, error) {
		if x = (note{}); old != nil && json.Unmarshal(old, &x) != nil {
			x = note{} // nobody could read it
		}
		set(&x)
		return json.Marshal(x)
	})
	if err != nil {
		return note{}, unavailable("the note was not kept: " + err.Error())
	}
	return x, nil
}

// withVerdict puts a verdict into an incident's JSON.
func withVerdict(data []byte, x note) []byte {
	if x.Verdict == nil {
		return data
	}
	var in explain.Incident
	if json.Unmarshal(data, &in) != nil {
		return data
	}
	in.Verdict = &x.Verdict.Verdict
	b, err := engine.Canonical(&in)
	if err != nil {
		return data
	}
	return b
}

// opinion is the body of a request that adds a note to an incident.
type opinion struct {
	Verdict json.RawMessage `json:"verdict"` // a string, or null; nil where it is not stated
	By      string          `json:"by"`
	Text    string          `json:"text"`
	// Entity and Signature are the right answer instead of a wrong one; the
	// signature "none" means that there was no fault at all.
	Entity    telemetry.Entity `json:"entity"`
	Signature string           `json:"signature"`

	verdict string // as read; empty takes one back
}

// readOpinion reads it strictly. An empty body adds nothing but the user.
func readOpinion(r io.Reader, withVerdict bool) (opinion, error) {
	var o opinion
	b, err := readBody(r, maxNoteBody)
	if err == nil && len(bytes.TrimSpace(b)) > 0 {
		err = decodeStrict(b, &o)
	}
	if err != nil {
		return o, err
	}
	switch {
	case !withVerdict && o.Verdict != nil:
		return o, bad("verdict", "unknown key")
	case !withVerdict && (o.Signature != "" || !o.Entity.IsZero()):
		return o, bad("signature", "goes with a verdict")
	}
	if err := checkNote(o.By, o.Text); err != nil || !withVerdict {
		return o, err
	}
	return o, o.readVerdict()
}

// assignment is the body of a request that assigns an incident.
type assignment struct {
	To   *string `json:"to"` // null takes it back
	By   string  `json:"by"`
	Text string  `json:"text"`
}

func readAssignment(r io.Reader) (assignment, error) {
	var a assignment
	b, err := readStrict(r, maxNoteBody, &a)
	if err != nil {
		return a, err
	}
	return a, cmp.Or(checkMember(b, "to", "a name", a.To), checkNote(a.By, a.Text))
}

// checkMember returns what is wrong with the member of a body that null takes back.
func checkMember(body []byte, key, what string, value *string) error {
	switch {
	case !bytes.Contains(body, []byte(`"`+key+`"`)):
		return bad(key, "missing: "+what+", or null to take it back")
	case value != nil && strings.TrimSpace(*value) == "":
		return bad(key, "empty: null takes it back")
	case value != nil && len(*value) > maxNoteBy:
		return bad(key, fmt.Sprintf("longer than %d bytes", maxNoteBy))
	}
	return nil
}

// checkNote returns an error for a note that is too long.
func checkNote(by, text string) error {
	switch {
	case len(by) > maxNoteBy:
		return bad("by", fmt.Sprintf("longer than %d bytes", maxNoteBy))
	case len(text) > maxNoteText:
		return bad("text", fmt.Sprintf("longer than %d bytes", maxNoteText))
	}
	return nil
}

func (o *opinion) readVerdict() error {
	switch {
	case o.Verdict == nil:
		return bad("verdict", "missing")
	case string(o.Verdict) == "null":
		return nil
	case len(o.Signature) > maxNoteBy || strings.ContainsFunc(o.Signature, func(r rune) bool { return r <= ' ' }):
		return bad("signature", "want a signature's name, or none")
	case o.Signature != "" && (o.Signature == pin.None) != o.Entity.IsZero():
		return bad("entity", "goes with a signature, unless that is none")
	case json.Unmarshal(o.Verdict, &o.verdict) != nil, !slices.Contains(verdicts[:], o.verdict):
		return bad("verdict", fmt.Sprintf("%.40s: want right, partly or wrong, or null to take it back", o.Verdict))
	}
	if o.verdict == "right" && o.Signature != "" {
		return bad("signature", "the answer was right: nothing else was")
	}
	return nil
}

// readStrict reads the body of a request, to a bound: one JSON value, all of whose keys
// are known.
func readStrict(r io.Reader, most int, into any) ([]byte, error) {
	b, err := readBody(r, most)
	if err == nil {
		err = decodeStrict(b, into)
	}
	return b, err
}

// readBody reads the body of a request, to a bound.
func readBody(r io.Reader, most int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return nil, bad("", "the body cannot be read")
	case len(b) > most:
		return nil, &problem{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body is longer than %d bytes", most)}
	}
	return b, nil
}

// decodeStrict reads one JSON value, all of whose keys are known.
func decodeStrict(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return bad("", "something follows the end")
		}
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		return bad(kind.Field, "not a "+kind.Type.String())
	case errors.As(err, &kind):
		return bad("", "not an object")
	}
	if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return bad(strings.Trim(key, `"`), "unknown key")
	}
	return bad("", "not JSON: "+err.Error())
}
