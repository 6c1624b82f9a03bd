package deck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxOrder is how long an order may be.
const maxOrder = 4 << 10

// order is what a POST asks for; what is absent stays as it is.
type order struct {
	Paused *bool           `json:"paused"`
	Speed  *float64        `json:"speed"`
	Seek   *telemetry.Time `json:"seek"`
}

// Handler answers GET with the state and obeys POST (docs/http.md), for the
// server that shows a session. Both answer with the state; its Session is the one
// that is shown: while another begins, the old one is for a moment.
func (d *Deck) Handler(session int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > 0 {
			refuse(w, "", "there are no parameters here")
			return
		}
		if r.Method == http.MethodPost {
			if field, err := d.obey(r.Body); err != nil {
				refuse(w, field, err.Error())
				return
			}
		}
		s := d.State()
		s.Session = session
		send(w, http.StatusOK, s)
	})
}

// obey does what a body asks for: all of it, or nothing.
func (d *Deck) obey(body io.Reader) (field string, err error) {
	in := json.NewDecoder(io.LimitReader(body, maxOrder))
	in.DisallowUnknownFields()
	var o order
	if err := in.Decode(&o); err != nil {
		return "", fmt.Errorf(`want {"paused":true,"speed":8,"seek":"2026-11-21T09:30:00Z"}, any of them: %w`, err)
	}
	if in.More() {
		return "", errors.New("want one order, and nothing behind it")
	}
	if o.Paused == nil && o.Speed == nil && o.Seek == nil {
		return "", errors.New("nothing is asked for: want paused, speed or seek")
	}
	if o.Speed != nil {
		if err := checkSpeed(*o.Speed); err != nil {
			return "speed", err
		}
	}
	if o.Seek != nil {
		if err := d.Seek(*o.Seek); err != nil {
			return "seek", err
		}
	}
	if o.Paused != nil {
		d.Pause(*o.Paused)
	}
	if o.Speed != nil {
		return "speed", d.SetSpeed(*o.Speed)
	}
	return "", nil
}

func refuse(w http.ResponseWriter, field, text string) {
	send(w, http.StatusBadRequest, map[string]string{"error": text, "field": field})
}

func send(w http.ResponseWriter, status int, body any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked may be gone
}
