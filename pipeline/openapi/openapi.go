package openapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Parameter is one of the query of a request.
type Parameter struct {
	Name string
	Text string   // what it is
	Type string   // string where it is empty; integer or number
	Enum []string // the values that it may have, where they are few
	// Default is what holds without it, where that is not the zero value.
	Default any

	Required bool
}

// Operation is what one method of a path does.
type Operation struct {
	Method  string
	Path    string // as http.ServeMux has it
	Summary string
	Query   []Parameter
	Body    any    // a value of the type that the request's body has; nil where there is none
	Answer  any    // a value of the type that the answer has; nil where it is no JSON
	Media   string // of an answer that is no JSON
	Status  int    // of success; 200 where it is zero
	Open    bool   // no login is asked for
}

// API is the content of a document.
type API struct {
	Title, Version string
	Problem        any // a value of the type that errors have
	Operations     []Operation
}

// object is a JSON object.
type object = map[string]any

// Document returns the API as an OpenAPI 3.1 document in JSON.
func (a API) Document() ([]byte, error) {
	types := &schemas{components: object{}}
	failure := object{"description": "Problem details (RFC 9457).", "content": object{"application/problem+json": object{"schema": types.of(reflect.TypeOf(a.Problem))}}}
	paths := object{}
	for _, o := range a.Operations {
		path := o.Path
		if strings.HasSuffix(path, "/") {
			path += "{path}" // everything below it
		}
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(o.Method)] = o.item(path, types)
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info":    object{"title": a.Title, "version": a.Version},
		"paths":   paths,
		"components": object{
			"schemas":         types.components,
			"responses":       object{"Problem": failure},
			"securitySchemes": object{"basic": object{"type": "http", "scheme": "basic"}, "bearer": object{"type": "http", "scheme": "bearer"}},
		},
		"security": []any{object{"basic": []string{}}, object{"bearer": []string{}}, object{}},
	}, "", "  ")
}

// inPath finds the parameters of a path.
var inPath = regexp.MustCompile(`\{(\w+)\}`)

// item returns an operation as a document has it.
func (o Operation) item(path string, types *schemas) object {
	parameters := []any{}
	for _, m := range inPath.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range o.Query {
		schema := object{"type": cmp.Or(p.Type, "string")}
		if p.Default != nil {
			schema["default"] = p.Default
		}
		if len(p.Enum) > 0 {
			schema["enum"] = p.Enum
		}
		parameters = append(parameters, object{"name": p.Name, "in": "query", "description": p.Text, "required": p.Required, "schema": schema})
	}
	success := object{"description": "The answer."}
	switch {
	case o.Answer != nil:
		success["content"] = object{"application/json": object{"schema": types.of(reflect.TypeOf(o.Answer))}}
	case o.Media != "":
		success["content"] = object{o.Media: object{}}
	}
	out := object{"operationId": o.id(), "summary": o.Summary, "parameters": parameters,
		"responses": object{strconv.Itoa(cmp.Or(o.Status, http.StatusOK)): success, "default": object{"$ref": "#/components/responses/Problem"}}}
	if o.Body != nil {
		out["requestBody"] = object{"content": object{"application/json": object{"schema": types.of(reflect.TypeOf(o.Body))}}}
	}
	if o.Open {
		out["security"] = []any{}
	}
	return out
}

// apart is what separates the words of an operation's name.
var apart = regexp.MustCompile(`[^A-Za-z0-9]+`)

// id returns the operation's name: getIncidentsIdNotes.
func (o Operation) id() string {
	name := strings.ToLower(o.Method)
	for _, word := range apart.Split(strings.TrimPrefix(o.Path, "/api/v1/"), -1) {
		if word != "" {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return name
}
