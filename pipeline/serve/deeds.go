package serve

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// deed is the body of a request that records what was done about an incident.
type deed struct {
	Action *string `json:"action"` // null takes it back
	By     string  `json:"by"`
	Text   string  `json:"text"`
}

func readDeed(r io.Reader) (deed, error) {
	var d deed
	b, err := readBody(r, maxNoteBody)
	if err == nil {
		err = decodeStrict(b, &d)
	}
	if err != nil {
		return d, err
	}
	switch {
	case !bytes.Contains(b, []byte(`"action"`)):
		return d, bad("action", "missing: what was done, or null to take it back")
	case d.Action != nil && strings.TrimSpace(*d.Action) == "":
		return d, bad("action", "empty: null takes it back")
	case d.Action != nil && len(*d.Action) > maxNoteBy:
		return d, bad("action", fmt.Sprintf("longer than %d bytes", maxNoteBy))
	case len(d.By) > maxNoteBy:
		return d, bad("by", fmt.Sprintf("longer than %d bytes", maxNoteBy))
	case len(d.Text) > maxNoteText:
		return d, bad("text", fmt.Sprintf("longer than %d bytes", maxNoteText))
	}
	return d, nil
}

// done answers POST /api/v1/incidents/{id}/done.
func (s *server) done(r *http.Request) (any, error) {
	k, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	d, err := readDeed(r.Body)
	if err != nil {
		return nil, err
	}
	return s.amend(r, k, said{By: d.By, Text: d.Text}, func(x *note, by *said) {
		if x.Done = nil; d.Action != nil {
			by.Action, x.Done = *d.Action, by
		}
	}, func(x note) any { return x.Done })
}
