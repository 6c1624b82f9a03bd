package plugin

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/quintet-dc/quintet/client"
	"github.com/quintet-dc/quintet/dashboards/grafana/pkg/frames"
)

// maxChoices is how many of something are offered; who types more sees others.
const maxChoices = 200

// maxPages bounds how many pages of entities are looked through for a search.
const maxPages = 4

// signatures lists the faults that Quintet knows, one in a line. It may lag
// behind the server's: others are offered as soon as an incident has them.
//
//go:embed signatures.txt
var signatures string

// resources serves the choices that the query editors offer.
func (d *Datasource) resources() http.Handler {
	mux := http.NewServeMux()
	for _, of := range []string{"jobs", "entities", "signatures", "incidents"} {
		mux.HandleFunc("GET /"+of, func(w http.ResponseWriter, r *http.Request) {
			list, err := d.choices(r.Context(), of, r.URL.Query().Get("search"))
			if err != nil {
				reply(w, int(statusOf(err)), map[string]string{"error": err.Error()})
				return
			}
			reply(w, http.StatusOK, list)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusNotFound, map[string]string{"error": "there is nothing at " + r.URL.Path})
	})
	return mux
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		backend.Logger.Warn("A resource could not be answered", "error", err)
	}
}

// choices lists the possible choices, by name, that contain the search text.
func (d *Datasource) choices(ctx context.Context, of, search string) ([]frames.Choice, error) {
	switch of {
	case "jobs":
		return d.jobChoices(ctx, search)
	case "entities":
		return d.entityChoices(ctx, search)
	case "signatures":
		return d.signatureChoices(ctx, search)
	}
	return d.incidentChoices(ctx, search)
}

func (d *Datasource) jobChoices(ctx context.Context, search string) ([]frames.Choice, error) {
	list, err := d.quint.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var out []frames.Choice
	for _, j := range list {
		name := strings.TrimPrefix(j.Job, "job:")
		out = append(out, frames.Choice{Label: name, Value: name, About: j.State})
	}
	return matching(out, search), nil
}

// entityChoices offers kinds until one is named: "nic:" then offers NICs.
func (d *Datasource) entityChoices(ctx context.Context, search string) ([]frames.Choice, error) {
	kind, name, named := strings.Cut(search, ":")
	if !named {
		t, err := d.quint.Topology(ctx, "", 0)
		if err != nil {
			return nil, err
		}
		var out []frames.Choice
		for k := range t.Kinds {
			out = append(out, frames.Choice{Label: k + ":", Value: k + ":", About: "go on typing for one of them"})
		}
		return matching(out, search), nil
	}
	var out []frames.Choice
	after := ""
	for range maxPages {
		page, next, err := d.quint.OfKind(ctx, kind, after)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			out = append(out, frames.Choice{Label: e.ID, Value: e.ID})
		}
		out = containing(out, name)
		if after = next; after == "" || len(out) >= maxChoices {
			break
		}
	}
	return matching(out, name), nil
}

func (d *Datasource) signatureChoices(ctx context.Context, search string) ([]frames.Choice, error) {
	all := strings.Fields(signatures)
	// Without a response the choices known here are offered all the same.
	if seen, err := d.quint.Incidents(ctx, client.GetIncidentsParams{Limit: usualIncidents}); err == nil {
		for _, i := range seen.Incidents {
			if i.Root != nil && i.Root.Signature != "" {
				all = append(all, i.Root.Signature)
			}
		}
	}
	slices.Sort(all)
	var out []frames.Choice
	for _, s := range slices.Compact(all) {
		out = append(out, frames.Choice{Label: s, Value: s})
	}
	return matching(out, search), nil
}

// incidentChoices keeps the order of Quintet: the newest first.
func (d *Datasource) incidentChoices(ctx context.Context, search string) ([]frames.Choice, error) {
	list, err := d.quint.Incidents(ctx, client.GetIncidentsParams{Limit: usualIncidents})
	if err != nil {
		return nil, err
	}
	var out []frames.Choice
	for _, i := range list.Incidents {
		out = append(out, frames.Choice{Label: i.Opened.UTC().Format("01-02 15:04") + " " + i.Title, Value: i.ID, About: i.State + ", " + i.ID})
	}
	out = containing(out, search)
	return out[:min(len(out), maxChoices)], nil
}

// containing keeps the choices in whose label or value the text occurs. It never
// returns nil: the response is a list.
func containing(list []frames.Choice, s string) []frames.Choice {
	s = strings.ToLower(s)
	out := []frames.Choice{}
	for _, c := range list {
		if strings.Contains(strings.ToLower(c.Label), s) || strings.Contains(strings.ToLower(c.Value), s) {
			out = append(out, c)
		}
	}
	return out
}

// matching keeps what contains the text, by name, not too many.
func matching(list []frames.Choice, s string) []frames.Choice {
	out := containing(list, s)
	slices.SortFunc(out, func(a, b frames.Choice) int { return cmp.Compare(a.Value, b.Value) })
	return out[:min(len(out), maxChoices)]
}
