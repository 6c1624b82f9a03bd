package redfish

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
)

// blanks are the words that firmware writes where it has no number. The schema
// requires null.
var blanks = []string{"", "-", "--", "n/a", "na", "nan", "none", "null", "unknown", "unavailable", "out of range", "not available", "not supported", "disabled"}

// numeral returns the text of a number as the device wrote it; where there is
// none, why. Firmware also writes numbers as strings, and wraps them in an
// excerpt of a sensor.
func numeral(v any) (string, collectors.Reason) {
	switch v := v.(type) {
	case json.Number:
		return string(v), ""
	case string:
		s := strings.TrimSpace(v)
		if plainNumber(s) {
			return s, ""
		}
		if slices.Contains(blanks, strings.ToLower(s)) {
			return "", collectors.Unsupported
		}
		return "", collectors.Malformed
	case nil:
		return "", collectors.Unsupported
	case map[string]any:
		for _, key := range []string{"Reading", "SetPoint"} {
			if inner, ok := v[key]; ok {
				if _, nested := inner.(map[string]any); nested {
					return "", collectors.Malformed
				}
				return numeral(inner)
			}
		}
		return "", collectors.Unsupported
	}
	return "", collectors.Malformed
}

// plainNumber reports whether s is a decimal number and nothing more: neither
// hexadecimal, infinite, nor with an underscore.
func plainNumber(s string) bool {
	if s == "" || strings.Trim(s, "+-.0123456789eE") != "" || strings.Trim(s, "+-.eE") == "" {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
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
