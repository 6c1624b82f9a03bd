package plan

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// edge is one of a file of edges (docs/http.md).
type edge struct {
	From     telemetry.Entity   `json:"from"`
	To       telemetry.Entity   `json:"to"`
	Relation telemetry.Relation `json:"rel"`
	Attrs    map[string]string  `json:"attrs,omitempty"`
}

// Write writes every edge of a site in the form that "topology: files:" reads.
func Write(w io.Writer, b *board.Board) error {
	doc := struct {
		Edges []edge `json:"edges"`
	}{[]edge{}}
	for _, r := range []telemetry.Relation{telemetry.Contains, telemetry.Connects, telemetry.Pairs, telemetry.Runs, telemetry.Feeds, telemetry.Cools,
		telemetry.Uses, telemetry.Member} {
		for _, e := range b.Edges(r) {
			out := edge{From: e.From, To: e.To, Relation: e.Relation}
			for _, a := range e.Attrs {
				if out.Attrs == nil {
					out.Attrs = map[string]string{}
				}
				out.Attrs[a.Key] = a.Value
			}
			doc.Edges = append(doc.Edges, out)
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	if err := enc.Encode(&doc); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}
