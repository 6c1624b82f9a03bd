package serve

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/openapi"
)

// described has the fields of an OpenAPI document that are read.
type described struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Parameters  []struct{ Name, In string }
		Responses   map[string]struct {
			Content map[string]struct{ Schema schemaRef }
		}
	}
	Components struct {
		Schemas map[string]struct {
			Properties map[string]json.RawMessage
			Required   []string
		}
	}
}

type schemaRef struct {
	Ref string `json:"$ref"`
}

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	r := run(t, newSite(), Config{})
	described := []string{}
	for _, o := range operations(r.server.routes()) {
		described = append(described, o.Method+" "+o.Path)
	}
	pages := []string{"/", "/api/v1/", "/-/"} // the page, and what does not exist
	for _, x := range r.server.routes() {
		for method, has := range map[string]bool{http.MethodGet: x.get != nil, http.MethodPost: x.post != nil} {
			want := has && !slices.Contains(pages, x.path)
			if is := slices.Contains(described, method+" "+x.path); is != want {
				t.Errorf("%s %s: described %v, want %v", method, x.path, is, want)
			}
		}
	}
}

// TestOpenAPIParametersAreThoseOfTheHandlers asks every route with each parameter that
// any of them has: those that are not described are refused as unknown.
func TestOpenAPIParametersAreThoseOfTheHandlers(t *testing.T) {
	r := run(t, newSite(), Config{})
	all, names := operations(r.server.routes()), []string{"bogus"}
	for _, o := range all {
		for _, p := range o.Query {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, o := range all {
		if o.Method != http.MethodGet || o.Answer == nil && len(o.Query) == 0 {
			continue
		}
		for _, name := range names {
			has := slices.ContainsFunc(o.Query, func(p openapi.Parameter) bool { return p.Name == name })
			if has && o.Media != "" {
				continue // its answer does not end
			}
			query := name + "=1"
			for _, p := range o.Query {
				if p.Required && p.Name != name {
					query += "&" + p.Name + "=node:n1"
				}
			}
			resp, body := r.get(regexp.MustCompile(`\{\w+\}`).ReplaceAllString(o.Path, "n1") + "?" + query)
			if resp.StatusCode == http.StatusNotImplemented {
				continue // it holds no log to capture
			}
			if unknown := strings.Contains(body, `"unknown parameter"`); unknown == has {
				t.Errorf("%s: parameter %s: described %v, unknown to the handler %v", o.Path, name, has, unknown)
			}
		}
	}
}

func TestOpenAPIAnswersAreAsDescribed(t *testing.T) {
	s := newSite()
	s.publish(incident("inc-1", 1, 10))
	r := run(t, s, Config{})
	r.until("the incident", func() bool { _, ok := r.server.ledger.get("inc-1"); return ok })
	_, text := r.get(documentPath)
	var d described
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"\$ref": ?"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if _, ok := d.Components.Schemas[m[1]]; !ok {
			t.Errorf("no schema %s", m[1])
		}
	}
	seen, answered := map[string]bool{}, 0
	for path, item := range d.Paths {
		for method, o := range item {
			if o.OperationID == "" || seen[o.OperationID] {
				t.Errorf("%s %s: operation %q: want a name of its own", method, path, o.OperationID)
			}
			seen[o.OperationID] = true
			ref := o.Responses["200"].Content["application/json"].Schema.Ref
			if method != "get" || ref == "" {
				continue
			}
			resp, body := r.get(strings.NewReplacer("{id}", "inc-1", "{name}", "n1").Replace(path))
			var got map[string]json.RawMessage
			if resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(body), &got) != nil {
				continue // no engine answers here
			}
			answered++
			schema := d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
			for key := range got {
				if _, ok := schema.Properties[key]; !ok {
					t.Errorf("%s: %s is not described", path, key)
				}
			}
			for _, key := range schema.Required {
				if _, ok := got[key]; !ok {
					t.Errorf("%s: %s is required and absent", path, key)
				}
			}
		}
	}
	if d.OpenAPI != "3.1.0" || answered < 6 {
		t.Errorf("openapi %q, %d routes answered: want 3.1.0 and 6 or more", d.OpenAPI, answered)
	}
}
