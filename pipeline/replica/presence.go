package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// Presence is what a replica reports about itself as long as it runs.
type Presence struct {
	Name       string         `json:"name"`
	Engine     string         `json:"engine"`
	Rules      string         `json:"rules"`
	Tick       telemetry.Time `json:"tick"`
	Position   uint64         `json:"position"`
	Publishing bool           `json:"publishing"`
	Diverged   bool           `json:"diverged"`
	// Claim is the claim in force as far as it has read. Digest is that of its
	// whole state at DigestTick, the last full minute; replicas that publish under
	// one claim have the same at the same tick. One that does not publish has none.
	Claim      string         `json:"claim"`
	Digest     string         `json:"digest"`
	DigestTick telemetry.Time `json:"digest_tick"`
}

// beatTimeout bounds one round of presence.
const beatTimeout = 5 * time.Second

// roll is the list of present replicas, by the bucket of presences.
type roll struct {
	at     telemetry.Time // the server's time when it was called
	others []Presence     // alive, by name
}

// publishing reports whether any other replica publishes.
func (r roll) publishing() bool {
	for _, o := range r.others {
		if o.Publishing {
			return true
		}
	}
	return false
}

// call reports this replica's presence and returns the others present.
func (h *herald) call(ctx context.Context, me Presence) (roll, error) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	if h.keys == nil {
		keys, err := h.cfg.Bus.KeyValue(ctx, bus.Replicas)
		if err != nil {
			return roll{}, err
		}
		h.keys = keys
	}
	b, err := json.Marshal(me)
	if err != nil {
		return roll{}, fmt.Errorf("presence: %w", err)
	}
	if _, err := h.keys.Put(ctx, h.key, b); err != nil {
		return roll{}, fmt.Errorf("presence: %w", err)
	}
	return h.listen(ctx)
}

// listen reads the bucket. An entry older than three beats is of a replica that is
// gone; the ages are the server's, so this process's clock does not matter.
func (h *herald) listen(ctx context.Context) (roll, error) {
	if err := h.list(ctx); err != nil {
		return roll{}, err
	}
	var out roll
	byTime := map[telemetry.Time][]Presence{}
	var times []telemetry.Time
	for _, key := range slices.Sorted(maps.Keys(h.names)) {
		e, err := h.keys.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			delete(h.names, key)
			continue
		}
		if err != nil {
			return roll{}, fmt.Errorf("presence: %w", err)
		}
		at := telemetry.Time(e.Created().UnixNano())
		if key == h.key {
			out.at = at
			continue
		}
		var p Presence
		if json.Unmarshal(e.Value(), &p) == nil {
			times, byTime[at] = append(times, at), append(byTime[at], p)
		}
	}
	// A list that was cut short must not make a replica look gone.
	switch {
	case ctx.Err() != nil:
		return roll{}, fmt.Errorf("presence: list: %w", ctx.Err())
	case out.at == 0:
		return roll{}, errors.New("presence: list: without this replica's own")
	}
	for _, at := range times {
		if out.at.Sub(at) < missedBeats*h.cfg.Beat {
			out.others = append(out.others, byTime[at]...)
		}
		delete(byTime, at)
	}
	return out, nil
}

// list adds the names in the bucket to those known. A list that is made during a
// write may lack the entry being written: a replica that was present once is looked
// up by name until its entry is gone, so that no write makes a replica look absent.
func (h *herald) list(ctx context.Context) error {
	lister, err := h.keys.ListKeys(ctx)
	if err != nil {
		return fmt.Errorf("presence: list: %w", err)
	}
	defer func() { _ = lister.Stop() }()
	if h.names == nil {
		h.names = map[string]bool{}
	}
	h.names[h.key] = true
	for key := range lister.Keys() {
		h.names[key] = true
	}
	return nil
}
