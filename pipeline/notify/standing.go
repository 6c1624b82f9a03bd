package notify

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// position is one receiver's position in the stream of incidents.
type position struct {
	// Start is the stream's end when the receiver was first served: of revisions up
	// to there it is sent only the open incidents, in their state at that point.
	Start uint64 `json:"start"`
	// Through is the sequence up to which everything is settled: it need not be
	// read again.
	Through uint64    `json:"through"`
	At      time.Time `json:"at"` // when this was last stated
	Gone    *farewell `json:"gone,omitempty"`
}

// farewell is a receiver's refusal of all further messages.
type farewell struct {
	At          time.Time `json:"at"`
	By          string    `json:"by"` // the process that was notified
	Status      int       `json:"status"`
	Fingerprint string    `json:"fingerprint"` // of what was configured
}

const (
	positionPrefix      = "receiver."
	alertPositionPrefix = "alerts."
)

// place returns the key of the receiver's position in this desk's stream.
func (d *desk) place() string {
	if d.alerts {
		return alertPositionPrefix + d.r.Name
	}
	return positionPrefix + d.r.Name
}

// How often a position is written: often enough that a start has little to read
// again, and at times even if nothing happens, so that its age shows an outage.
const (
	saveEvery  = 10 * time.Second
	touchEvery = time.Hour
)

// enter reads the receiver's position, or creates it. It tries until ctx is done.
func (d *desk) enter(ctx context.Context) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := d.tryEnter(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errLost) {
			continue // another process is entering, too
		}
		d.meters.storeErrors.Inc()
		d.log.Warn("reading the receiver's state failed", "error", err)
		if !bus.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

func (d *desk) tryEnter(ctx context.Context) error {
	first, last, err := d.stream.Bounds(ctx)
	if err != nil {
		return err
	}
	b, seen, err := d.store.get(ctx, d.place())
	if err != nil {
		return err
	}
	var s position
	if seen != 0 && json.Unmarshal(b, &s) != nil {
		d.log.Error("the receiver's state cannot be decoded: starting from an empty state", "key", d.place())
		s = position{}
	}
	if s.Gone != nil && s.Gone.Fingerprint == d.address {
		d.log.Error("receiver gone (HTTP 410): deliveries stop until its configuration changes", "since", s.Gone.At, "status", s.Gone.Status)
		d.read = last
		d.close(s, seen)
		return nil
	}
	if why := s.stale(seen, last, d.c); why != "" {
		d.log.Info("receiver added: delivering open incidents", "reason", why, "sequence", last)
		s = position{Start: last, Through: min(s.Through, last)}
	}
	s.At = d.c.Now()
	if seen, err = d.store.swap(ctx, d.place(), seen, s); err != nil {
		return err
	}
	d.position, d.seen = s, seen
	d.start, d.read = s.Start, s.Through
	if first > last {
		return nil // there is nothing to be read before what comes
	}
	d.end, d.until = last, d.c.Now().Add(readTimeout)
	if s.Start > s.Through {
		d.open = map[string]pending{}
	}
	return nil
}

// stale returns why a receiver is served as if for the first time, or "".
func (s position) stale(seen, last uint64, c *Config) string {
	switch {
	case seen == 0:
		return "it is new"
	case s.Gone != nil:
		return "it was gone and is configured otherwise"
	case s.Through > last:
		return "the stream of incidents is another one"
	case c.Now().Sub(s.At) > horizon(retries[:]):
		return "it was not served for longer than retries last"
	}
	return ""
}

// save writes the receiver's position, if it changed.
func (d *desk) save(ctx context.Context) {
	s, now := d.position, d.c.Now()
	through, gone := d.through()
	s.Through, s.At = max(s.Through, through), now
	if gone != nil && s.Gone == nil {
		s.Gone = gone
	} else if s.Through == d.position.Through && now.Sub(d.position.At) < touchEvery {
		return
	}
	seen, err := d.store.swap(ctx, d.place(), d.seen, s)
	switch {
	case err == nil:
		d.position, d.seen = s, seen
	case errors.Is(err, errLost):
		d.reread(ctx)
	default:
		d.meters.storeErrors.Inc()
		d.log.Debug("writing the receiver's state failed", "error", err)
	}
}

// reread adopts what another process wrote; additions are written the next time.
func (d *desk) reread(ctx context.Context) {
	b, seen, err := d.store.get(ctx, d.place())
	var s position
	if err != nil || seen == 0 || json.Unmarshal(b, &s) != nil {
		d.meters.storeErrors.Inc()
		return
	}
	d.position, d.seen = s, seen
	if s.Gone != nil && s.Gone.Fingerprint == d.address {
		d.log.Error("receiver gone (HTTP 410), reported by another process", "by", s.Gone.By, "status", s.Gone.Status)
		d.close(s, seen)
	}
}
