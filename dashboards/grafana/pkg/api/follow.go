package api

import (
	"context"
	"encoding/json"

	"github.com/quintet-dc/quintet/client"
)

// Place is a position in the stream of incidents.
type Place struct {
	ID string // Last-Event-ID; empty: begin with what is new
}

// Follow reads the stream of incidents from behind a place until it breaks off
// or ctx ends, and moves the place on. It calls connected once the server has
// answered. It always returns an error: why it ended.
func (c *Client) Follow(ctx context.Context, place *Place, connected func(), each func(*client.Incident) error) error {
	answered := false
	err := c.follow.Follow(ctx, place.ID, func() { answered = true; connected() }, func(e client.StreamEvent) error {
		if e.Name != "incident" {
			return nil
		}
		var i client.Incident
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return &Garbage{Path: "/api/v1/stream", Why: err.Error()}
		}
		if err := each(&i); err != nil {
			return err
		}
		if e.Own {
			place.ID = e.ID
		}
		return nil
	})
	if answered || ctx.Err() != nil {
		return err
	}
	return explain(err)
}
