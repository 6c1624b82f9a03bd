package settings

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Field is a field of a struct that a configuration sets. Its tags are:
//
//	yaml     the key; a field without one is not set. ",inline" sets the fields of an
//	         embedded struct, ",single" accepts one value in place of a list, and of
//	         the lists in a list or a table
//	default  the value of a key that is not set
//	min, max bounds of a number, a duration, a size; max bounds the length of a text
//	         and of a list too
//	oneof    words, of which the value is one
//	format   what a text must be: "address" (host:port) or "url" (http or https)
//	was      former names, separated by commas; "old=inner" is a key that has moved
//	         into the field, to be the key inner of it; "old=0.inner" into its first item
//	invert   true: the field is set where the key is false
//	example  a value, for the reference
type Field struct {
	Key     string
	Index   []int
	Type    reflect.Type
	Name    string // of the field
	Owner   reflect.Type
	Default string
	Min     string
	Max     string
	OneOf   []string
	Format  string
	Was     []Former
	Invert  bool
	Single  bool
	Example string

	least, most int64 // of numbers, durations, sizes, lengths; 0 is no bound
}

// Former is a former name of a key. Inner is where its value is now, inside of the
// field; empty is the field itself.
type Former struct{ Old, Inner string }

func (f Former) now(key string) string {
	if f.Inner == "" {
		return key
	}
	return key + "." + strings.TrimPrefix(f.Inner, "0.")
}

// Fields returns the fields of a struct that a configuration sets.
func Fields(t reflect.Type) (out []Field) {
	for i := range t.NumField() {
		x := t.Field(i)
		tag, ok := x.Tag.Lookup("yaml")
		if !ok || !x.IsExported() {
			continue
		}
		key, option, _ := strings.Cut(tag, ",")
		if option == "inline" {
			for _, f := range Fields(x.Type) {
				f.Index = append([]int{i}, f.Index...)
				out = append(out, f)
			}
			continue
		}
		f := Field{Key: key, Index: []int{i}, Type: x.Type, Name: x.Name, Owner: t, Default: x.Tag.Get("default"), Min: x.Tag.Get("min"), Max: x.Tag.Get("max"),
			OneOf: strings.Fields(x.Tag.Get("oneof")), Format: x.Tag.Get("format"), Invert: x.Tag.Get("invert") == "true", Single: option == "single", Example: x.Tag.Get("example")}
		for _, w := range strings.FieldsFunc(x.Tag.Get("was"), func(r rune) bool { return r == ',' }) {
			old, inner, _ := strings.Cut(w, "=")
			f.Was = append(f.Was, Former{old, inner})
		}
		f.least, f.most = bound(f.Type, f.Min), bound(f.Type, f.Max)
		if f.Min == "" && f.most > 0 {
			f.least = 1 // a bound of lengths is not asked for one
		}
		out = append(out, f)
	}
	return out
}

// item is the field of an item of a list or a table.
func (f Field) item() Field {
	if k := f.Type.Kind(); k == reflect.Slice || k == reflect.Map {
		f.Type, f.least, f.most = f.Type.Elem(), 0, 0
	}
	f.Single = f.Single && f.Type.Kind() == reflect.Slice
	return f
}

// bound reads a bound, in the form of the values that it is of.
func bound(t reflect.Type, text string) int64 {
	if text == "" {
		return 0
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		d, err := ParseDuration(text)
		must(err)
		return int64(d)
	case reflect.TypeFor[Bytes]():
		b, err := ParseBytes(text)
		must(err)
		return int64(b)
	}
	v, err := strconv.ParseInt(text, 10, 64)
	must(err)
	return v
}

// must stops the program where a tag is no bound or no default: any test finds that.
func must(err error) {
	if err != nil {
		panic("settings: " + err.Error())
	}
}
