package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/quintet-dc/quintet/pipeline/notify"
)

const (
	usualNotifications = 200
	maxNotifications   = 5000
)

// delivered is the state of one incident at one receiver, with its id.
type delivered struct {
	ID string `json:"id"`
	notify.Delivery
}

// deliveredList is the answer to GET /api/v1/notifications.
type deliveredList struct {
	Notifications []delivered `json:"notifications"`
	Truncated     bool        `json:"truncated,omitempty"`
	Next          string      `json:"next,omitempty"` // the cursor of what comes behind
}

// notifications answers GET /api/v1/notifications: why each of the last revisions
// of each incident was sent to each receiver, or was not.
func (s *server) notifications(r *http.Request) (any, error) {
	q := parameters(r, "incident", "receiver", "state", "limit", "cursor")
	incident, receiver, state := q.text("incident"), q.text("receiver"), q.text("state")
	limit, from := q.number("limit", usualNotifications, 1, maxNotifications), q.cursor()
	if !slices.Contains([]string{"", "all", "dead", notify.StateClaimed, notify.StateFailed, notify.StateHeld, notify.StateDone}, state) {
		q.fail("state", "want dead, claimed, failed, held, settled or all")
	}
	if q.err != nil {
		return nil, q.err
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	all, err := notify.Deliveries(ctx, s.cfg.Bus)
	if err != nil {
		return nil, unavailable("notifications: " + err.Error())
	}
	found := []delivered{}
	for _, d := range all {
		switch {
		case incident != "" && d.Incident != incident, receiver != "" && d.Receiver != receiver:
		case state == "dead" && !d.IsDead(), state != "" && state != "all" && state != "dead" && d.State != state:
		default:
			found = append(found, delivered{d.ID(), d})
		}
	}
	p := pageOf(found, func(d delivered) string { return d.ID }, from, limit)
	return deliveredList{p.items, p.next != "", p.next}, nil
}

// retry answers POST /api/v1/notifications/{id}/retry.
func (s *server) retry(r *http.Request) (any, error) {
	by, err := askedBy(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	d, err := notify.Retry(ctx, s.cfg.Bus, r.PathValue("id"), by)
	switch {
	case errors.Is(err, notify.ErrNoDelivery):
		return nil, &problem{status: http.StatusNotFound, field: "id", text: err.Error()}
	case errors.Is(err, notify.ErrNotDead):
		return nil, &problem{status: http.StatusConflict, field: "id", text: err.Error() + ": it is " + d.State}
	case err != nil:
		return nil, unavailable("the retry cannot be asked for: " + err.Error())
	}
	noteChange(r, nil, d)
	return delivered{d.ID(), d}, nil
}
