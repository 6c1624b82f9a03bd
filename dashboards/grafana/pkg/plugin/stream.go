package plugin

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/api"
	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/frames"
)

// maxSent bounds how many incidents a stream remembers to have sent.
const maxSent = 4096

// SubscribeStream is called for each new subscriber: the first picture is the open
// incidents.
func (d *Datasource) SubscribeStream(ctx context.Context, req *backend.SubscribeStreamRequest) (*backend.SubscribeStreamResponse, error) {
	f, ok := filter(req.Path)
	if !ok {
		return &backend.SubscribeStreamResponse{Status: backend.SubscribeStreamStatusNotFound}, nil
	}
	rows := []client.Incident{}
	list, err := d.quint.Incidents(ctx, client.GetIncidentsParams{State: "open", Limit: maxIncidents})
	if err == nil {
		rows = passing(list.Incidents, f)
		d.places.begin(req.Path, list.LastEventID)
	} else {
		// The stream keeps trying and then sends the open incidents.
		backend.Logger.Warn("Quintet does not answer who subscribes", "error", err)
	}
	picture := frames.Incidents(rows, d.page)
	if picture.Meta.Channel, err = d.channel(f); err != nil {
		return nil, err
	}
	first, err := backend.NewInitialFrame(picture, data.IncludeAll)
	if err != nil {
		return nil, err
	}
	return &backend.SubscribeStreamResponse{Status: backend.SubscribeStreamStatusOK, InitialData: first}, nil
}

// PublishStream refuses: nothing is written to Quintet from here.
func (d *Datasource) PublishStream(context.Context, *backend.PublishStreamRequest) (*backend.PublishStreamResponse, error) {
	return &backend.PublishStreamResponse{Status: backend.PublishStreamStatusPermissionDenied}, nil
}

// RunStream follows Quintet's stream for all subscribers of a path, until the last
// one leaves. After a disconnect it resumes behind the last incident that was sent.
func (d *Datasource) RunStream(ctx context.Context, req *backend.RunStreamRequest, sender *backend.StreamSender) error {
	f, ok := filter(req.Path)
	if !ok {
		return errors.New("there is no stream " + req.Path)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(d.closed, cancel)
	defer stop()
	s := &stream{Datasource: d, filter: f, sent: map[string]bool{}, send: func(rows []client.Incident) error {
		return sender.SendFrame(frames.Incidents(rows, d.page), data.IncludeDataOnly)
	}}
	var done func()
	s.place.ID, s.begun, done = d.places.take(req.Path)
	defer done()
	return s.run(ctx)
}

// stream is one path that is looked at.
type stream struct {
	*Datasource
	filter frames.Filter
	send   func([]client.Incident) error
	place  api.Place
	begun  bool            // whether the place is known
	sent   map[string]bool // incidents that those who look have seen
}

// errUnsent is an error of Grafana's, not of Quintet's: trying again is Grafana's
// business.
type errUnsent struct{ error }

func (s *stream) run(ctx context.Context) error {
	wait := s.pace.first
	said := ""
	for {
		err := s.once(ctx, func() { wait, said = s.pace.first, "" })
		var unsent errUnsent
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &unsent):
			return unsent.error
		}
		if text := err.Error(); text != said {
			backend.Logger.Warn("Quintet's stream broke off; it is resumed", "error", text, "behind", s.place.ID)
			said = text
		}
		if !sleep(ctx, s.pace.jitter(wait)) {
			return nil
		}
		wait = min(2*wait, s.pace.most)
	}
}

// once follows until the stream breaks off.
func (s *stream) once(ctx context.Context, connected func()) error {
	if !s.begun {
		list, err := s.quint.Incidents(ctx, client.GetIncidentsParams{State: "open", Limit: maxIncidents})
		if err != nil {
			return err
		}
		if rows := passing(list.Incidents, s.filter); len(rows) > 0 {
			if err := s.send(rows); err != nil {
				return errUnsent{err}
			}
			for _, i := range rows {
				s.remember(i.ID)
			}
		}
		s.place.ID, s.begun = list.LastEventID, true
	}
	return s.quint.Follow(ctx, &s.place, connected, func(i *client.Incident) error {
		// An incident that was sent before is sent even if it no longer passes the
		// filter: its row must not keep an outdated state.
		if !s.filter.Passes(i) && !s.sent[i.ID] {
			return nil
		}
		if err := s.send([]client.Incident{*i}); err != nil {
			return errUnsent{err}
		}
		s.remember(i.ID)
		return nil
	})
}

func (s *stream) remember(id string) {
	if len(s.sent) >= maxSent {
		clear(s.sent)
	}
	s.sent[id] = true
}

func passing(list []client.Incident, f frames.Filter) []client.Incident {
	out := []client.Incident{}
	for i := range list {
		if f.Passes(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// pace is how a stream that broke off is tried again.
type pace struct {
	first, most time.Duration
	jitter      func(time.Duration) time.Duration
}

// usualPace doubles from half a second to half a minute, each somewhere between
// half of it and the whole, so that many do not come back at once.
func usualPace() pace {
	return pace{first: 500 * time.Millisecond, most: 30 * time.Second, jitter: func(d time.Duration) time.Duration {
		return d/2 + rand.N(d/2+1)
	}}
}

// sleep waits, and reports whether ctx is still active.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
