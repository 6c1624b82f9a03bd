package serve

import (
	"cmp"
	"io"
	"net/http"
)

// deed is the body of a request that records what was done about an incident.
type deed struct {
	Action *string `json:"action"` // null takes it back
	By     string  `json:"by"`
	Text   string  `json:"text"`
}

func readDeed(r io.Reader) (deed, error) {
	var d deed
	b, err := readStrict(r, maxNoteBody, &d)
	if err != nil {
		return d, err
	}
	return d, cmp.Or(checkMember(b, "action", "what was done", d.Action), checkNote(d.By, d.Text))
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
	return s.amend(r, k, personNote{By: d.By, Text: d.Text}, func(x *note, by *personNote) {
		if x.Done = nil; d.Action != nil {
			by.Action, x.Done = *d.Action, by
		}
	}, func(x note) any { return x.Done })
}
