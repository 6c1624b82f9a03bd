package collect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/standard"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/settings"
)

// TestTheReferenceIsCurrent: docs/configuration.md and the JSON Schema beside it are
// those of the structs that the configuration is decoded into.
func TestTheReferenceIsCurrent(t *testing.T) {
	r := &reference{t: t, docs: map[string]map[string]string{}}
	for path, want := range map[string][]byte{"../../docs/configuration.md": r.page(), "../../docs/configuration.schema.json": r.schema()} {
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not current (%v): run go generate ./cmd/collect", path, err)
		}
	}
}

// reference describes structs by their tags and doc comments.
type reference struct {
	t    *testing.T
	docs map[string]map[string]string // by package, then by "Type.Field"
}

// doc returns the doc comment of a field in one line.
func (r *reference) doc(f settings.Field) string {
	pkg := f.Owner.PkgPath()
	if r.docs[pkg] == nil {
		r.docs[pkg] = r.parse(filepath.Join("../..", strings.TrimPrefix(pkg, "github.com/quintet-dc/quintet")))
	}
	text := r.docs[pkg][f.Owner.Name()+"."+f.Name]
	if text == "" {
		r.t.Errorf("%s.%s.%s: a doc comment is required: it is in the reference", pkg, f.Owner.Name(), f.Name)
	}
	subject := "`" + f.Key + "` "
	if f.Invert {
		subject = "`false` " // the field is set where the key is false
	}
	return strings.Replace(text, f.Name+" ", subject, 1)
}

// parse reads the doc comments of a folder's fields.
func (r *reference) parse(dir string) map[string]string {
	out := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			r.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						out[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(cmp.Or(f.Doc.Text(), f.Comment.Text())), " ")
					}
				}
			}
			return true
		})
	}
	return out
}

// forms are the types that a value is written as text of.
var forms = map[reflect.Type]string{reflect.TypeFor[time.Duration](): "duration", reflect.TypeFor[settings.Bytes](): "size", reflect.TypeFor[time.Time](): "time"}

// item returns the type that a value, or each item of it, has.
func item(t reflect.Type) (elem reflect.Type, suffix, form string) {
	for {
		switch k := t.Kind(); {
		case k == reflect.Pointer:
			t = t.Elem()
		case forms[t] != "":
			return t, suffix, forms[t]
		case k == reflect.Slice:
			t, suffix = t.Elem(), suffix+"[]"
		case k == reflect.Map:
			t, suffix = t.Elem(), suffix+".*"
		case k == reflect.Bool:
			return t, suffix, "boolean"
		case k == reflect.Struct && len(settings.Fields(t)) > 0:
			return t, suffix, ""
		case k >= reflect.Int && k <= reflect.Int64:
			return t, suffix, "integer"
		default:
			return t, suffix, "text"
		}
	}
}

const head = `# Configuration

Every key of the configuration. This page and [configuration.schema.json](configuration.schema.json) are generated from the structs that the file is decoded into: ` + "`make generate`" + `. Editors check and complete a file that begins with

` + "```yaml\n# yaml-language-server: $schema=configuration.schema.json\n```" + `

A duration is written ` + "`500ms`, `1h30m`, `15d`, `1w`; a size `1000000`, `512MB`, `8GiB`" + ` (1 KB and 1 KiB are both 1024 bytes). ` + "`[]`" + ` is an item of a list, ` + "`*`" + ` a name of your choice. An unknown key is an error; ` + "`quintet config migrate FILE`" + ` renames keys of earlier releases. [Operating](operating.md), [history](history.md), [alerts](alerts.md) and [collectors](collectors.md) explain what the keys are for.
`

// page is the reference for people.
func (r *reference) page() []byte {
	var b bytes.Buffer
	b.WriteString(head + "\n## The service\n")
	r.table(&b, reflect.TypeFor[config.File]())
	for _, k := range standard.Kinds() {
		fmt.Fprintf(&b, "\n## collectors: %s\n\n%s\n", k.Name, k.Doc)
		r.table(&b, reflect.TypeOf(k.Settings))
	}
	return b.Bytes()
}

func (r *reference) table(b *bytes.Buffer, t reflect.Type) {
	b.WriteString("\n| key | value | |\n|---|---|---|\n")
	r.rows(b, t, "")
}

func (r *reference) rows(b *bytes.Buffer, t reflect.Type, path string) {
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;")
	for _, f := range settings.Fields(t) {
		elem, suffix, form := item(f.Type)
		fmt.Fprintf(b, "| `%s%s%s` | %s | %s |\n", path, f.Key, suffix, cell.Replace(value(f, form)), cell.Replace(r.doc(f)))
		if form == "" {
			r.rows(b, elem, path+f.Key+suffix+".")
		}
	}
}

// value describes the values of a key.
func value(f settings.Field, form string) string {
	parts := []string{form}
	switch {
	case len(f.OneOf) > 0:
		parts = []string{strings.Join(f.OneOf, ", ")}
	case f.Format != "":
		parts = []string{f.Format}
	}
	switch {
	case form != "integer" && forms[f.Type] == "":
	case f.Min != "" && f.Max != "":
		parts = append(parts, f.Min+" to "+f.Max)
	case f.Min != "":
		parts = append(parts, "at least "+f.Min)
	case f.Max != "":
		parts = append(parts, "at most "+f.Max)
	}
	switch {
	case f.Default != "":
		parts = append(parts, "default `"+f.Default+"`")
	case f.Invert:
		parts = append(parts, "default `true`")
	case f.Example != "":
		parts = append(parts, "as `"+f.Example+"`")
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}

// schema is the reference for editors.
func (r *reference) schema() []byte {
	root := r.object(reflect.TypeFor[config.File]())
	kinds := map[string]any{}
	for _, k := range standard.Kinds() {
		kinds[k.Name] = map[string]any{"type": []string{"array", "null"}, "description": k.Doc, "items": r.object(reflect.TypeOf(k.Settings))}
	}
	root["properties"].(map[string]any)["collectors"] = map[string]any{"type": []string{"object", "null"}, "properties": kinds, "additionalProperties": false}
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", "Quintet's configuration"
	out, err := json.MarshalIndent(root, "", " ")
	if err != nil {
		r.t.Fatal(err)
	}
	return append(out, '\n')
}

func (r *reference) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, f := range settings.Fields(t) {
		one := r.value(f.Type, f)
		one["description"] = r.doc(f)
		if f.Default != "" {
			one["default"] = f.Default
		}
		properties[f.Key] = one
	}
	return map[string]any{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// value is the schema of one value. Text is any scalar: a host may be named 1234.
func (r *reference) value(t reflect.Type, f settings.Field) map[string]any {
	text := map[string]any{"type": []string{"string", "number", "boolean"}}
	_, set := reflect.New(t).Interface().(interface{ Set(string) error })
	switch k := t.Kind(); {
	case k == reflect.Pointer && t.Elem().Kind() == reflect.Struct && t.Elem().Name() == "Node":
		return map[string]any{}
	case k == reflect.Pointer:
		return r.value(t.Elem(), f)
	case forms[t] != "":
		return text
	case k == reflect.Slice:
		list := map[string]any{"type": []string{"array", "null"}, "items": r.value(t.Elem(), f)}
		if f.Single {
			return map[string]any{"anyOf": []any{text, list}}
		}
		return list
	case k == reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": r.value(t.Elem(), f)}
	case k == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case k == reflect.Struct && len(settings.Fields(t)) > 0 && set:
		return map[string]any{"anyOf": []any{text, r.object(t)}}
	case k == reflect.Struct && len(settings.Fields(t)) > 0:
		return r.object(t)
	case k >= reflect.Int && k <= reflect.Int64:
		number := map[string]any{"type": "integer"}
		for key, bound := range map[string]string{"minimum": f.Min, "maximum": f.Max} {
			if n, err := strconv.ParseInt(bound, 10, 64); err == nil && f.Type == t {
				number[key] = n
			}
		}
		return number
	case len(f.OneOf) > 0:
		return map[string]any{"enum": f.OneOf}
	}
	return text
}
