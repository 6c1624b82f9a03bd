package openapi

import (
	"encoding"
	"encoding/json"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// schemas are the schemas of named types, which refer to each other.
type schemas struct{ components object }

var (
	texts   = reflect.TypeFor[encoding.TextMarshaler]()
	encodes = reflect.TypeFor[json.Marshaler]()
	unfit   = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// of returns the schema of a type as encoding/json writes it: a time, whether
// telemetry's or the standard library's, is text of RFC 3339.
func (s *schemas) of(t reflect.Type) object {
	if t.Kind() == reflect.Pointer {
		return object{"anyOf": []any{s.of(t.Elem()), object{"type": "null"}}}
	}
	switch {
	case t.Kind() == reflect.Int64 && t.Name() == "Time", t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Implements(texts) || reflect.PointerTo(t).Implements(texts):
		return object{"type": "string"}
	case t.Implements(encodes) || reflect.PointerTo(t).Implements(encodes):
		return s.nullable(t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	return object{} // an interface
}

// nullable returns the schema of a type that encodes itself. Structs with names for
// their members, and numbers, do so to be null where they are not known
// (docs/http.md); any other has the schema that permits everything.
func (s *schemas) nullable(t reflect.Type) object {
	null, number := object{"type": "null"}, object{"type": "number"}
	switch {
	case t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Tag.Get("json") != "":
		return object{"anyOf": []any{s.structure(t), null}}
	case t.Kind() == reflect.Float64:
		return object{"anyOf": []any{number, null}}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Float64:
		return object{"type": "array", "items": object{"anyOf": []any{number, null}}}
	}
	return object{}
}

// structure returns the schema of a struct: a reference where the type has a name.
func (s *schemas) structure(t reflect.Type) object {
	if t.Name() == "" {
		return s.fields(t)
	}
	name := unfit.ReplaceAllString(path.Base(t.PkgPath())+"."+t.Name(), "_")
	if _, ok := s.components[name]; !ok {
		s.components[name] = object{} // ends the recursion of a type that contains itself
		s.components[name] = s.fields(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields returns the members of a struct, those of embedded structs among them.
func (s *schemas) fields(t reflect.Type) object {
	properties, required := object{}, []string{}
	for f := range fieldsOf(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		properties[name] = s.of(f.Type)
		if !slices.Contains(required, name) && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// fieldsOf yields the fields that encoding/json writes, the embedded ones first.
func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, embedded := range []bool{true, false} {
			for i := range t.NumField() {
				f := t.Field(i)
				inlined := f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("json") == ""
				if inlined != embedded {
					continue
				}
				if inlined {
					for inner := range fieldsOf(f.Type) {
						if !yield(inner) {
							return
						}
					}
				} else if f.IsExported() && f.Tag.Get("json") != "-" && !yield(f) {
					return
				}
			}
		}
	}
}
