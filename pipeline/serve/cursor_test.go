package serve

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readAll reads a list of numbers part by part.
func readAll(t *testing.T, limit int, list func(from spot) []int) (out []int) {
	t.Helper()
	var from spot
	for range 100 {
		p := pageOf(list(from), strconv.Itoa, from, limit)
		out = append(out, p.items...)
		if p.next == "" {
			return out
		}
		q := &query{values: url.Values{"cursor": {p.next}}}
		if from = q.cursor(); q.err != nil {
			t.Fatal(q.err)
		}
	}
	t.Fatal("the list has no end")
	return nil
}

func TestPageOfHasEachItemOnce(t *testing.T) {
	list := []int{9, 8, 7, 6, 5, 4, 3}
	for limit := 1; limit < 9; limit++ {
		if got := readAll(t, limit, func(spot) []int { return list }); !slices.Equal(got, list) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	if got := readAll(t, 2, func(spot) []int { return nil }); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestPageOfGoesOnWhenTheListChanges: what begins meanwhile is not read, and what
// ends meanwhile leaves no item out that stays.
func TestPageOfGoesOnWhenTheListChanges(t *testing.T) {
	got := readAll(t, 2, func(from spot) []int {
		switch from.done {
		case 0:
			return []int{9, 8, 7, 6}
		case 2:
			return []int{10, 9, 8, 7, 6} // one more at the top: go on behind 8
		}
		return []int{10, 9, 8, 7}
	})
	if want := []int{9, 8, 7, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCursorRefusesWhatNoAnswerStated(t *testing.T) {
	for _, text := range []string{"x", "LTEgYQ", "MQ", "eCBh"} {
		q := &query{values: url.Values{"cursor": {text}}}
		if q.cursor(); q.err == nil || q.err.field != "cursor" {
			t.Errorf("cursor %q: %v", text, q.err)
		}
	}
}

func TestPartCutsEveryListToItsItems(t *testing.T) {
	whole := `{"sources":[{"collector":"a","target":"1","n":1},{"collector":"a","target":"2","n":2},{"collector":"b","target":"1","n":3}],` +
		`"gaps":[{"collector":"b","target":"1"},{"collector":"a","target":"1"},{"collector":"a","target":"1"}],"processes":[{"process":"x"}]}`
	got, err := part([]byte(whole), []string{"sources", "gaps"}, []string{"collector", "target"}, spot{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"sources": `[{"collector":"a","target":"1","n":1},{"collector":"a","target":"2","n":2}]`,
		"gaps": `[{"collector":"a","target":"1"},{"collector":"a","target":"1"}]`, "processes": `[{"process":"x"}]`} {
		if text := string(got.(map[string]json.RawMessage)[key]); text != want {
			t.Errorf("%s: %s, want %s", key, text, want)
		}
	}
}

// TestEveryListHasACursor holds the document to it: an answer with a list named
// as the path's last word has limit, cursor and next.
func TestEveryListHasACursor(t *testing.T) {
	r := run(t, newSite(), Config{})
	_, text := r.get(documentPath)
	var d described
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	whole := []string{"/api/v1/search", "/api/v1/incidents/{id}/curves", "/api/v1/coupling"} // the best matches, some curves, and a matrix
	lists := 0
	for path, methods := range d.Paths {
		get, ok := methods["get"]
		if !ok || slices.Contains(whole, path) {
			continue
		}
		ref := get.Responses["200"].Content["application/json"].Schema.Ref
		properties := d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")].Properties
		last := path[strings.LastIndexByte(path, '/')+1:]
		name := map[string]string{"audit": "changes", "coverage": "sources", "topology": "entities"}[last]
		if name == "" {
			name = last
		}
		if !strings.Contains(string(properties[name]), `"array"`) {
			continue
		}
		lists++
		var has []string
		for _, p := range get.Parameters {
			has = append(has, p.Name)
		}
		if _, ok := properties["next"]; !ok || !slices.Contains(has, "limit") || !slices.Contains(has, "cursor") {
			t.Errorf("GET %s: next %v, parameters %v", path, ok, has)
		}
	}
	if lists < 8 {
		t.Errorf("%d lists found: the test does not look where they are", lists)
	}
}
