package assist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// MaxAnswer is how many bytes of JSON an answer has at most. It is about 8,000
// tokens: as much as an assistant can read of a tool without losing its context.
const MaxAnswer = 24 << 10

const (
	maxCited    = 64
	maxText     = 2000 // bytes of one string
	maxCutNamed = 16
)

// result is a tool's result, before it is cut to size.
type result struct {
	text string // one or two sentences
	data any
	tick string // the log's time as of which it is stated; empty where unknown
	page string // where a person sees the same
	// from and to are the time that the result refers to, if data has none.
	from, to telemetry.Time
	cut      []string // what the tool left out itself
	// shrink, if any, makes data smaller in a way of its own, and reports whether
	// it did.
	shrink func() bool
}

// Answer is the structured content of every tool.
type Answer struct {
	Tick  string   `json:"tick,omitempty" jsonschema:"the log's time (RFC 3339, UTC) to which this refers"`
	Data  any      `json:"data" jsonschema:"the facts, as the HTTP API returns them"`
	Cites Cites    `json:"cites" jsonschema:"what the facts are about"`
	Cut   []string `json:"cut,omitempty" jsonschema:"what was left out to keep the answer short"`
	Page  string   `json:"page,omitempty" jsonschema:"path of the page on this server where a person sees the same"`
}

// Cites is the subject of an answer: its entities, and the time between the first
// and the last instant that it names.
type Cites struct {
	Entities []string `json:"entities"`
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
}

// fit cuts an answer to size and finds what it cites. It is the same for the
// same facts.
func (t *result) fit() (*Answer, error) {
	out := &Answer{Tick: t.tick, Page: t.page}
	whole, err := t.plain()
	if err != nil {
		return nil, err
	}
	for _, limit := range []int{200, 100, 50, 30, 20, 12, 8, 5, 3, 2, 1, 0} {
		c := cutter{limit: limit}
		out.Data = c.value(whole, "")
		out.Cut = shorten(slices.Concat(t.cut, c.cut))
		out.Cites = t.cites(out.Data)
		b, err := encode(out)
		if err != nil {
			return nil, err
		}
		if len(b) <= MaxAnswer {
			return out, nil
		}
	}
	return nil, fmt.Errorf("the answer has more than %d bytes: ask for less", MaxAnswer)
}

// plain returns the data of the result as generic JSON values, shortened by the
// tool itself if it is too long.
func (t *result) plain() (any, error) {
	b, err := encode(t.data)
	for err == nil && len(b) > MaxAnswer*3/4 && t.shrink != nil && t.shrink() {
		b, err = encode(t.data)
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out any
	return out, d.Decode(&out)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// shorten keeps the list of cuts itself short.
func shorten(cut []string) []string {
	if len(cut) > maxCutNamed {
		rest := len(cut) - maxCutNamed
		cut = append(cut[:maxCutNamed:maxCutNamed], fmt.Sprintf("and %d more places", rest))
	}
	return cut
}

// cutter cuts lists to a length, and texts.
type cutter struct {
	limit int
	cut   []string
}

func (c *cutter) value(v any, path string) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out[k] = c.value(x[k], join(path, k))
		}
		return out
	case []any:
		return c.list(x, path)
	case string:
		if len(x) > maxText {
			c.cut = append(c.cut, fmt.Sprintf("%s: the first %d of %d bytes", path, maxText, len(x)))
			return string(bytes.ToValidUTF8([]byte(x[:maxText]), nil))
		}
	}
	return v
}

// list cuts a list. Pairs and rows of a matrix are facts of their own: a list of no
// more than five elements is left whole.
func (c *cutter) list(x []any, path string) any {
	n := len(x)
	if n > max(c.limit, 5) || c.limit == 0 && n > 0 && path != "" && !flat(x) {
		c.cut = append(c.cut, fmt.Sprintf("%s: the first %d of %d", path, c.limit, n))
		n = min(n, c.limit)
	}
	out := make([]any, n)
	for i := range n {
		out[i] = c.value(x[i], path+"["+strconv.Itoa(i)+"]")
	}
	return out
}

// flat reports whether a list holds nothing that could be long.
func flat(x []any) bool {
	return !slices.ContainsFunc(x, func(v any) bool {
		switch v.(type) {
		case map[string]any, []any, string:
			return true
		}
		return false
	})
}

func join(path, k string) string {
	if path == "" {
		return k
	}
	return path + "." + k
}

// cites collects the entities and times in data.
func (t *result) cites(data any) Cites {
	w := walker{seen: map[string]bool{}}
	w.walk(data)
	out := Cites{Entities: w.entities}
	if out.Entities == nil {
		out.Entities = []string{}
	}
	from, to := w.from, w.to
	if t.from != 0 {
		from, to = time.Unix(0, int64(t.from)).UTC(), time.Unix(0, int64(t.to)).UTC()
	}
	if !from.IsZero() {
		out.From, out.To = from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano)
	}
	return out
}

// walker collects, in the order of the answer.
type walker struct {
	seen     map[string]bool
	entities []string
	from, to time.Time
}

func (w *walker) walk(v any) {
	switch x := v.(type) {
	case map[string]any:
		w.labels(x)
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if k != "would_tell" {
				w.walk(x[k])
			}
		}
	case []any:
		for _, e := range x {
			w.walk(e)
		}
	case string:
		w.text(x)
	}
}

// labels returns the entity of a series by its labels.
func (w *walker) labels(m map[string]any) {
	kind, _ := m["kind"].(string)
	name, _ := m["name"].(string)
	if kind != "" && name != "" {
		w.text(kind + ":" + name)
	}
}

func (w *walker) text(s string) {
	if len(s) >= len("2006-01-02T15:04:05Z") && s[4] == '-' {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			if w.from.IsZero() || t.Before(w.from) {
				w.from = t
			}
			if t.After(w.to) {
				w.to = t
			}
			return
		}
	}
	if w.seen[s] || len(w.entities) == maxCited {
		return
	}
	if _, err := telemetry.ParseEntity(s); err == nil {
		w.seen[s] = true
		w.entities = append(w.entities, s)
	}
}
