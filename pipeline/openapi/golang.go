package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// The parts of a document from which a client is generated.
type (
	document struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]schema }
	}
	operation struct {
		OperationID string
		Summary     string
		Parameters  []struct {
			Name, In, Description string
			Schema                schema
		}
		RequestBody *content
		Responses   map[string]content
	}
	content struct {
		Content map[string]struct{ Schema *schema }
	}
	schema struct {
		Ref        string `json:"$ref"`
		Type       string
		Format     string
		Default    any
		Items      *schema
		AnyOf      []schema
		Properties map[string]schema
		Required   []string
		Additional *schema `json:"additionalProperties"`
	}
)

// generator writes Go.
type generator struct {
	bytes.Buffer
	names map[string]string // Go's name of each component
}

func (g *generator) printf(text string, args ...any) { fmt.Fprintf(g, text, args...) }

// GoClient returns the Go source of a package's types and of its Client's
// methods, one for each operation of a document. The package itself has Client
// and its method call.
func GoClient(text []byte, name string) ([]byte, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	g := &generator{names: naming(d.Components.Schemas)}
	g.printf("// Code generated from openapi.json by go generate. DO NOT EDIT.\n\npackage %s\n\nimport (\n\"context\"\n\"encoding/json\"\n\"io\"\n\"net/http\"\n\"net/url\"\n\"time\"\n)\n", name)
	for _, id := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		g.printf("\n// %s is a schema of the API.\ntype %[1]s %[2]s\n", g.names[id], g.of(d.Components.Schemas[id]))
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			g.operation(strings.ToUpper(method), path, d.Paths[path][method])
		}
	}
	source, err := format.Source(g.Bytes())
	if err != nil {
		return nil, fmt.Errorf("openapi: generated client: %w", err)
	}
	return source, nil
}

// naming gives components their Go names: that of the type, without the parameters
// of a generic one; with the package before it where several would have it.
func naming(components map[string]schema) map[string]string {
	short := func(id string) (pkg, name string) {
		pkg, name, _ = strings.Cut(id, ".")
		name, _, _ = strings.Cut(name, "_")
		return exported(pkg), exported(name)
	}
	count := map[string]int{}
	for id := range components {
		_, name := short(id)
		count[name]++
	}
	out := map[string]string{}
	for id := range components {
		pkg, name := short(id)
		if count[name] > 1 {
			name = pkg + name
		}
		out[id] = name
	}
	return out
}

// of returns the Go type of a schema.
func (g *generator) of(s schema) string {
	switch {
	case s.Ref != "":
		return g.names[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	case len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
		return "*" + g.of(s.AnyOf[0])
	case s.Format == "date-time":
		return "time.Time"
	}
	switch s.Type {
	case "string":
		return "string"
	case "integer":
		return "int64"
	case "number":
		return "float64"
	case "boolean":
		return "bool"
	case "array":
		return "[]" + g.of(*s.Items)
	case "object":
		if s.Properties == nil {
			return "map[string]" + g.of(*cmp.Or(s.Additional, &schema{}))
		}
		return g.structure(s)
	}
	return "json.RawMessage"
}

// structure returns a struct.
func (g *generator) structure(s schema) string {
	var b strings.Builder
	b.WriteString("struct {\n")
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		options := ""
		if !slices.Contains(s.Required, key) {
			options = ",omitzero"
		}
		fmt.Fprintf(&b, "%s %s `json:\"%s%s\"`\n", exported(key), g.of(s.Properties[key]), key, options)
	}
	return b.String() + "}"
}

// operation writes the method of an operation and the struct of its query.
func (g *generator) operation(method, path string, o operation) {
	name := exported(o.OperationID)
	arguments, query, set := "", "nil", ""
	expression := fmt.Sprintf("%q", path)
	for _, p := range o.Parameters {
		if p.In == "path" {
			arguments += ", " + unexported(p.Name) + " string"
			segment := "url.PathEscape(" + unexported(p.Name) + ")"
			if strings.HasSuffix(path, "/{path}") { // everything below
				segment = unexported(p.Name)
			}
			expression = strings.Replace(expression, "{"+p.Name+"}", `"+`+segment+`+"`, 1)
			continue
		}
		if query == "nil" {
			query = "query"
			arguments += ", params " + name + "Params"
			g.printf("\n// %sParams are the parameters of %[1]s. Zero values are not sent.\ntype %[1]sParams struct {\n", name)
		}
		kind, describes, setter := g.of(p.Schema), p.Description, "set"
		if p.Schema.Default != nil { // so that zero can be sent
			kind, describes, setter = "*"+kind, fmt.Sprintf("%s; nil is %v", describes, p.Schema.Default), "setGiven"
		}
		g.printf("%s %s // %s\n", exported(p.Name), kind, describes)
		set += fmt.Sprintf("%s(query, %q, params.%s)\n", setter, p.Name, exported(p.Name))
	}
	if query != "nil" {
		g.printf("}\n")
		set = "query := url.Values{}\n" + set
	}
	expression = strings.TrimSuffix(expression, `+""`)
	body := "nil"
	switch {
	case o.RequestBody != nil:
		arguments += ", body " + g.of(*o.RequestBody.Content["application/json"].Schema)
		body = "body"
	case method == http.MethodPost && o.answer() == nil:
		arguments += ", body Body"
		body = "body"
	}
	g.printf("\n// %s: %s\n//\n// %s %s\n", name, o.Summary, method, path)
	answer := o.answer()
	if answer == nil {
		g.printf("//\n// The caller closes the answer.\nfunc (c *Client) %s(ctx context.Context%s) (io.ReadCloser, error) {\n%sreturn c.open(ctx, http.Method%s, %s, %s, %s)\n}\n",
			name, arguments, set, verb(method), expression, query, body)
		return
	}
	g.printf("func (c *Client) %s(ctx context.Context%s) (*%s, error) {\n%sout := new(%[3]s)\nreturn out, c.call(ctx, http.Method%[5]s, %s, %s, %s, out)\n}\n",
		name, arguments, g.of(*answer), set, verb(method), expression, query, body)
}

// answer returns the schema of a successful answer in JSON, nil where it has none.
func (o operation) answer() *schema {
	for status, r := range o.Responses {
		if c, ok := r.Content["application/json"]; ok && status != "default" {
			return c.Schema
		}
	}
	return nil
}

// verb returns a method as net/http's constants have it: Get, Post.
func verb(method string) string { return method[:1] + strings.ToLower(method[1:]) }

// initialism returns a word in Go's spelling, in capitals if it is an initialism.
func initialism(word string) string {
	switch word {
	case "Id", "Url", "Json", "Gpu", "Mfu":
		return strings.ToUpper(word)
	case "Gpus":
		return "GPUs"
	}
	return word
}

// exported returns a name as Go exports it: gpu_seconds_lost is GPUSecondsLost.
func exported(name string) string {
	var b strings.Builder
	for _, word := range apart.Split(strings.ReplaceAll(name, "_", " "), -1) {
		for _, part := range humps(word) {
			b.WriteString(initialism(strings.ToUpper(part[:1]) + part[1:]))
		}
	}
	return b.String()
}

// humps splits a name where a small letter is followed by a capital.
func humps(word string) (out []string) {
	from := 0
	for i := 1; i < len(word); i++ {
		if isCapital(word[i]) && !isCapital(word[i-1]) {
			out, from = append(out, word[from:i]), i
		}
	}
	if from < len(word) {
		out = append(out, word[from:])
	}
	return out
}

func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }

// unexported returns the name of an argument.
func unexported(name string) string {
	if name == "id" {
		return name
	}
	e := exported(name)
	return strings.ToLower(e[:1]) + e[1:]
}
