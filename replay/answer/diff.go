package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// File is an answer as a file: {"incidents":[…]}.
type File struct {
	Incidents []explain.Incident `json:"incidents"`
}

// WriteFile writes the incidents as a file. Its bytes depend on nothing but
// them.
func WriteFile(w io.Writer, incidents []explain.Incident) error {
	if incidents == nil {
		incidents = []explain.Incident{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(File{incidents})
}

// Difference is one field that two answers do not agree on. Was and Now are
// JSON; "" where one of them has no such field.
type Difference struct {
	Incident string // its id
	Field    string // "root.confidence", "chain[2].entity"; "" for the whole incident
	Was, Now string
}

// String returns the difference as one line.
func (d Difference) String() string {
	switch {
	case d.Field == "" && d.Was == "":
		return fmt.Sprintf("%s: only now: %s", d.Incident, d.Now)
	case d.Field == "" && d.Now == "":
		return fmt.Sprintf("%s: no more: %s", d.Incident, d.Was)
	case d.Was == "":
		return fmt.Sprintf("%s: %s: now %s", d.Incident, d.Field, d.Now)
	case d.Now == "":
		return fmt.Sprintf("%s: %s: no more %s", d.Incident, d.Field, d.Was)
	}
	return fmt.Sprintf("%s: %s: %s, was %s", d.Incident, d.Field, d.Now, d.Was)
}

// Diff compares the incidents with those of a file written before, by id, field
// by field. Fields that this version does not know are compared, too. An error
// means that the file is none.
func Diff(before []byte, now []explain.Incident) ([]Difference, error) {
	was, err := parse(before)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := WriteFile(&b, now); err != nil {
		return nil, err
	}
	is, err := parse(b.Bytes())
	if err != nil {
		return nil, err
	}
	var out []Difference
	ids := slices.Sorted(maps.Keys(was))
	for id := range is {
		if _, both := was[id]; !both {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		w, before := was[id]
		i, after := is[id]
		if before && after {
			out = compare(out, id, "", w, i)
			continue
		}
		out = append(out, Difference{Incident: id, Was: title(w), Now: title(i)})
	}
	return out, nil
}

// parse reads a file into its incidents by id.
func parse(b []byte) (map[string]map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var f struct {
		Incidents *[]map[string]any `json:"incidents"`
	}
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("not an answer: %w", err)
	}
	if f.Incidents == nil {
		return nil, fmt.Errorf(`not an answer: no "incidents" in it`)
	}
	out := map[string]map[string]any{}
	for i, in := range *f.Incidents {
		id, ok := in["id"].(string)
		if !ok {
			return nil, fmt.Errorf("not an answer: incidents[%d] has no id", i)
		}
		if out[id] != nil {
			return nil, fmt.Errorf("not an answer: incident %s is there twice", id)
		}
		out[id] = in
	}
	return out, nil
}

// title names a whole incident; "" for none.
func title(in map[string]any) string {
	if in == nil {
		return ""
	}
	s, _ := in["title"].(string)
	if s == "" {
		s = "an incident without a title"
	}
	return s
}

// compare appends the differences between two JSON values.
func compare(out []Difference, id, field string, was, now any) []Difference {
	switch w := was.(type) {
	case map[string]any:
		if n, ok := now.(map[string]any); ok {
			return compareObjects(out, id, field, w, n)
		}
	case []any:
		if n, ok := now.([]any); ok {
			return compareArrays(out, id, field, w, n)
		}
	}
	if a, b := text(was), text(now); a != b {
		out = append(out, Difference{id, field, a, b})
	}
	return out
}

func compareObjects(out []Difference, id, field string, was, now map[string]any) []Difference {
	keys := slices.Sorted(maps.Keys(was))
	for k := range now {
		if _, both := was[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		w, before := was[k]
		n, after := now[k]
		at := strings.TrimPrefix(field+"."+k, ".")
		switch {
		case !after:
			out = append(out, Difference{Incident: id, Field: at, Was: text(w)})
		case !before:
			out = append(out, Difference{Incident: id, Field: at, Now: text(n)})
		default:
			out = compare(out, id, at, w, n)
		}
	}
	return out
}

func compareArrays(out []Difference, id, field string, was, now []any) []Difference {
	for i := range max(len(was), len(now)) {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case i >= len(now):
			out = append(out, Difference{Incident: id, Field: at, Was: text(was[i])})
		case i >= len(was):
			out = append(out, Difference{Incident: id, Field: at, Now: text(now[i])})
		default:
			out = compare(out, id, at, was[i], now[i])
		}
	}
	return out
}

// text is a JSON value on one line.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}
