package settings

import (
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"
)

// Default gives the fields of the struct that to points to their defaults where they
// are zero. Structs in it have theirs too, lists and tables are left as they are.
func Default(to any) { (&decoder{}).fill(reflect.ValueOf(to).Elem()) }

func (d *decoder) fill(v reflect.Value) {
	for _, f := range d.fields(v.Type()) {
		x := v.FieldByIndex(f.Index)
		switch {
		case f.Default != "" && x.IsZero():
			in := decoder{}
			in.value(&yaml.Node{Kind: yaml.ScalarNode, Tag: tagOf(x), Value: f.Default}, x, f)
			if len(in.problems) > 0 {
				must(in.problems[0])
			}
		case x.Kind() == reflect.Struct && x.Type() != reflect.TypeFor[yaml.Node]() && x.Type() != reflect.TypeFor[time.Time]():
			d.fill(x)
		}
	}
}

func tagOf(v reflect.Value) string {
	if v.Kind() == reflect.Bool {
		return "!!bool"
	}
	return "!!str"
}
