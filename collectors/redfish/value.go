package redfish

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// excerpt takes a number out of the excerpt of a sensor, in which firmware wraps it.
func excerpt(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, key := range []string{"Reading", "SetPoint"} {
		if inner, ok := m[key]; ok {
			return inner
		}
	}
	return nil
}

// read returns the word of a property's value, or the reason why it has none.
func read(q *mapping.Quantity, v any) (uint64, collectors.Reason) {
	v = excerpt(v)
	if v == nil {
		return 0, collectors.Unsupported
	}
	text, ok := word(v)
	if _, written := v.(string); !ok && !written {
		return 0, collectors.Malformed
	}
	n, why := q.Text(text)
	if why != "" {
		return 0, why
	}
	return q.Word(n)
}

// word returns a state's text: what the device calls it.
func word(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v), strings.TrimSpace(v) != ""
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return string(v), true
	}
	return "", false
}

// at returns the value at a place inside a document: property names, and indices of
// lists.
func at(doc any, place []string) (any, bool) {
	for _, name := range place {
		switch d := doc.(type) {
		case map[string]any:
			v, ok := d[name]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(d) {
				return nil, false
			}
			doc = d[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// textAt is the text at a place, "" where there is none.
func textAt(doc any, place ...string) string {
	v, ok := at(doc, place)
	if !ok {
		return ""
	}
	s, _ := word(v)
	return s
}

// link returns the @odata.id of a reference.
func link(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	s, _ := m["@odata.id"].(string)
	return s
}

// typeOf returns a document's resource type without namespace and version:
// "#Sensor.v1_12_0.Sensor" is a Sensor. "" where it states none.
func typeOf(doc map[string]any) string {
	s, _ := doc["@odata.type"].(string)
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		return s[i+1:]
	}
	return strings.TrimPrefix(s, "#")
}
