package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/collectors/weigh"
)

// number is a whole number as the versions of slurmrestd write it: plain, null,
// or {"set":true,"infinite":false,"number":7}.
type number struct {
	known bool
	value int64
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = number{}
	if len(b) > 0 && b[0] == '{' {
		var o struct {
			Set, Infinite bool
			Number        json.Number
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		if !o.Set || o.Infinite {
			return nil
		}
		return n.read(o.Number.String())
	}
	s := strings.Trim(string(b), `"`)
	if s == "null" || s == "" {
		return nil
	}
	return n.read(s)
}

func (n *number) read(s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q is no whole number", s)
	}
	*n = number{true, v}
	return nil
}

// words is a text or a list of texts: states and flags were the one and became
// the other.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(b []byte) error {
	*w = nil
	if len(b) > 0 && b[0] == '[' {
		var list []string
		err := json.Unmarshal(b, &list)
		*w = list
		return err
	}
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s != nil && *s != "" {
		*w = words{*s}
	}
	return nil
}

// has reports whether a word is among them, whatever its case: it was lower, and
// became upper.
func (w words) has(word string) bool {
	for _, x := range w {
		if strings.EqualFold(x, word) {
			return true
		}
	}
	return false
}

// exitCode is what wait returned, or its parts.
type exitCode struct{ code, signal int64 }

// UnmarshalJSON implements json.Unmarshaler.
func (e *exitCode) UnmarshalJSON(b []byte) error {
	*e = exitCode{}
	if len(b) == 0 || b[0] != '{' {
		var n number
		if err := n.UnmarshalJSON(b); err != nil {
			return err
		}
		e.code, e.signal = n.value>>8&0xff, n.value&0x7f // as wait(2) packs them
		return nil
	}
	var o struct {
		ReturnCode *number `json:"return_code"`
		Signal     *struct {
			ID       number `json:"id"`
			SignalID number `json:"signal_id"` // v0.0.39
		}
		Set    *bool
		Number json.RawMessage
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if o.ReturnCode == nil && o.Set != nil {
		return e.UnmarshalJSON(o.Number)
	}
	if o.ReturnCode != nil {
		e.code = o.ReturnCode.value
	}
	if o.Signal != nil {
		e.signal = max(o.Signal.ID.value, o.Signal.SignalID.value)
	}
	return nil
}

// String returns how a job ended, "" where it ended well.
func (e exitCode) String() string {
	switch {
	case e.signal != 0:
		return fmt.Sprintf("signal %d", e.signal)
	case e.code != 0:
		return fmt.Sprintf("exit code %d", e.code)
	}
	return ""
}

// slurmJob holds the fields that are read of a job.
type slurmJob struct {
	ID          number   `json:"job_id"`
	Name        string   `json:"name"`
	State       words    `json:"job_state"`
	StateReason string   `json:"state_reason"`
	Nodes       string   `json:"nodes"`
	Gres        words    `json:"gres_detail"` // one of each node, in their order
	TRES        string   `json:"tres_alloc_str"`
	Start       number   `json:"start_time"`  // seconds, as all times
	End         number   `json:"end_time"`    // of what runs, when its time is up
	Submit      number   `json:"submit_time"` // of what was queued again, when that was
	Restarts    number   `json:"restart_cnt"`
	Exit        exitCode `json:"exit_code"`
	Tasks       number   `json:"tasks"`
}

// slurmNode holds the fields that are read of a node.
type slurmNode struct {
	Name    string `json:"name"`
	State   words  `json:"state"`
	Flags   words  `json:"state_flags"` // until v0.0.38; then part of the state
	Reason  string `json:"reason"`
	Changed number `json:"reason_changed_at"`
}

// drained reports whether a node is drained by its operators.
func (n *slurmNode) drained() bool {
	for _, w := range []words{n.State, n.Flags} {
		if w.has("DRAIN") || w.has("DRAINED") || w.has("DRAINING") || w.has("MAINTENANCE") || w.has("MAINT") {
			return true
		}
	}
	return false
}

var (
	errForm = errors.New("not in the form of slurmrestd")
	errSaid = errors.New("slurmrestd reports")
)

// unmarshal decodes a document that is no larger in memory than a multiple of itself.
func unmarshal(b []byte, into any) error {
	if err := weigh.JSON(b); err != nil {
		return fmt.Errorf("%w: %w", errForm, err)
	}
	return json.Unmarshal(b, into)
}

// list streams an answer: each item of the array called key is given to each,
// everything else is skipped. Items that each reports as malformed are counted. An
// answer without the array is none.
func list(in io.Reader, key string, each func(json.RawMessage) error) (malformed int, err error) {
	part := &limited{in, maxItem}
	d := json.NewDecoder(part)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, fmt.Errorf("%w: no object", errForm)
	}
	found := false
	message := ""
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return malformed, fmt.Errorf("%w: %w", errForm, err)
		}
		switch t {
		case key:
			bad, err := items(d, part, each)
			malformed += bad
			if err != nil {
				return malformed, err
			}
			found = true
		case "errors":
			var list []struct{ Error, Description string }
			if err := d.Decode(&list); err != nil {
				return malformed, fmt.Errorf("%w: errors: %w", errForm, err)
			}
			for _, e := range list {
				message = strings.TrimSpace(e.Error + " " + e.Description)
			}
		default:
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return malformed, fmt.Errorf("%w: %w", errForm, err)
			}
			part.left = maxItem
		}
	}
	if _, err := d.Token(); err != nil {
		return malformed, fmt.Errorf("%w: %w", errForm, err)
	}
	switch {
	case message != "":
		return malformed, fmt.Errorf("%w: %s", errSaid, plain(message))
	case !found:
		return malformed, fmt.Errorf("%w: no %q", errForm, key)
	}
	return malformed, nil
}

// maxItem is how long one item of an answer may be: it is held whole, and decoded.
const maxItem = 16 << 20

func items(d *json.Decoder, part *limited, each func(json.RawMessage) error) (malformed int, err error) {
	t, err := d.Token()
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errForm, err)
	case t == nil: // null is an empty list
		return 0, nil
	case t != json.Delim('['):
		return 0, fmt.Errorf("%w: want a list", errForm)
	}
	var item json.RawMessage
	for d.More() {
		item = item[:0]
		if err := d.Decode(&item); err != nil {
			return malformed, fmt.Errorf("%w: %w", errForm, err)
		}
		part.left = maxItem
		if each(item) != nil {
			malformed++
		}
	}
	_, err = d.Token()
	return malformed, err
}

// gpuIndices reads the GPUs of one node out of "gpu:h100:8(IDX:0-3,6),nic:1".
// False where some have no index.
func gpuIndices(gres string) (out []int, ok bool) {
	for _, part := range splitOutside(gres, '(', ')') {
		if !strings.HasPrefix(part, "gpu") {
			continue
		}
		_, in, found := strings.Cut(part, "(IDX:")
		in, _, shut := strings.Cut(in, ")")
		if !found || !shut {
			return nil, false
		}
		for _, span := range strings.Split(in, ",") {
			lo, hi, _, err := numbers(span)
			if err != nil || hi >= 1<<10 {
				return nil, false
			}
			for n := lo; n <= hi; n++ {
				out = append(out, int(n))
			}
		}
	}
	return out, len(out) > 0
}

// usesGPU reports whether a job was given any, by its resources.
func (j *slurmJob) usesGPU() bool {
	if strings.Contains(j.TRES, "gres/gpu") {
		return true
	}
	for _, g := range j.Gres {
		if strings.HasPrefix(g, "gpu") || strings.Contains(g, ",gpu") {
			return true
		}
	}
	return false
}
