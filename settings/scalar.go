package settings

import (
	"encoding"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Bytes is a number of bytes, written 1000000, 512MB or 8GiB; 1MB and 1MiB are both
// 1024 * 1024 bytes, as in Prometheus.
type Bytes int64

// Text is a text with its place, for problems that are found later.
type Text struct {
	Value        string
	Line, Column int
}

// setter is a type that has a text form, as flag.Value has.
type setter interface{ Set(text string) error }

// blank is a setter that reads an empty text, and null, as one.
type blank interface {
	setter
	Blank()
}

// own decodes types with a form of their own.
func (d *decoder) own(n *yaml.Node, v reflect.Value) bool {
	switch x := v.Addr().Interface().(type) {
	case *yaml.Node:
		*x = *n
		return true
	case **yaml.Node:
		*x = n
		return true
	case *Text:
		x.Line, x.Column = n.Line, n.Column
		d.text(n, reflect.ValueOf(&x.Value).Elem(), Field{})
		return true
	case *time.Duration, *Bytes:
		return false
	case *netip.Prefix:
		d.set(n, func(text string) (err error) {
			if *x, err = netip.ParsePrefix(text); err != nil {
				return fmt.Errorf("want a prefix such as 10.20.0.0/16, found %s", kindOf(n))
			}
			return nil
		})
		return true
	case *time.Time:
		at, err := time.Parse(time.RFC3339Nano, n.Value)
		if err != nil {
			d.fail(n, "want a time such as 2027-01-31T00:00:00Z, found %s", kindOf(n))
		}
		*x = at
		return true
	case **time.Location:
		zone, err := time.LoadLocation(n.Value)
		if err != nil || n.Value == "" {
			d.fail(n, "want a time zone such as Europe/Berlin, found %s", kindOf(n))
		}
		*x = zone
		return true
	case setter:
		if n.Kind == yaml.MappingNode && v.Kind() == reflect.Struct && len(d.fields(v.Type())) > 0 {
			return false
		}
		if _, ok := x.(blank); ok && n.Kind == yaml.ScalarNode && (n.Value == "" || null(n)) {
			must(x.Set(""))
			return true
		}
		d.set(n, x.Set)
		return true
	case encoding.TextUnmarshaler:
		d.set(n, func(s string) error { return x.UnmarshalText([]byte(s)) })
		return true
	}
	return false
}

// set reads the text form of a value.
func (d *decoder) set(n *yaml.Node, set func(string) error) {
	if n.Kind != yaml.ScalarNode || null(n) || n.Value == "" {
		d.fail(n, "want text, found %s", kindOf(n))
		return
	}
	if err := set(n.Value); err != nil {
		d.fail(n, "%v", err)
	}
}

// scalar decodes text, truths and numbers.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, f Field) bool {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		t, err := ParseDuration(n.Value)
		d.number(n, v, f, int64(t), err, "a duration such as 2s or 500ms", func(x int64) string { return time.Duration(x).String() })
	case v.Type() == reflect.TypeFor[Bytes]():
		b, err := ParseBytes(n.Value)
		d.number(n, v, f, int64(b), err, "a size such as 512MiB or 8GiB", func(x int64) string { return Bytes(x).String() })
	case v.Kind() == reflect.String:
		d.text(n, v, f)
	case v.Kind() == reflect.Bool:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			d.fail(n, "want true or false, found %s", kindOf(n))
		}
		v.SetBool(strings.EqualFold(n.Value, "true") != f.Invert)
	case v.CanInt():
		i, err := strconv.ParseInt(n.Value, 10, 64)
		d.number(n, v, f, i, err, "a whole number", func(x int64) string { return strconv.FormatInt(x, 10) })
	default:
		return false
	}
	return true
}

// number sets a number that is within the bounds of its field.
func (d *decoder) number(n *yaml.Node, v reflect.Value, f Field, x int64, err error, want string, print func(int64) string) {
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		d.fail(n, "want %s, found %s", want, kindOf(n))
	case f.Min == "" && f.most == 0 && x <= 0:
		d.fail(n, "%s, want more than 0", print(x))
	case f.most > 0 && (x < f.least || x > f.most):
		d.fail(n, "%s, want %s to %s", print(x), print(f.least), print(f.most))
	case x < f.least:
		d.fail(n, "%s, want at least %s", print(x), print(f.least))
	default:
		v.SetInt(x)
	}
}

func (d *decoder) text(n *yaml.Node, v reflect.Value, f Field) {
	switch {
	case n.Kind != yaml.ScalarNode || null(n) || n.Value == "":
		d.fail(n, "want text, found %s", kindOf(n))
	case strings.ContainsRune(n.Value, 0):
		d.fail(n, "a zero byte in %.40q", n.Value)
	case len(f.OneOf) > 0 && !slices.Contains(f.OneOf, n.Value):
		d.fail(n, "want one of %s, found %s", strings.Join(f.OneOf, ", "), kindOf(n))
	case f.most > 0 && int64(len(n.Value)) > f.most:
		d.fail(n, "%d bytes, want at most %d", len(n.Value), f.most)
	case f.Format == "address" && !isAddress(n.Value):
		d.fail(n, "want an address such as 127.0.0.1:8420, found %s", kindOf(n))
	case f.Format == "url" && !isURL(n.Value):
		d.fail(n, "want a URL such as https://quintet.example.org") // a URL may hold a secret: it is not repeated
	default:
		v.SetString(n.Value)
	}
}

// isAddress reports whether a text is host:port.
func isAddress(text string) bool { _, _, err := net.SplitHostPort(text); return err == nil }

// isURL reports whether a text is a URL that requests can be sent to.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Fragment == ""
}

// long are the units of Prometheus's durations that Go's have not.
var long = []struct {
	unit string
	time.Duration
}{{"y", 365 * 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}}

// ParseDuration reads a duration of Go or of Prometheus: 500ms, 1h30m, 15d, 1w, 1y.
func ParseDuration(s string) (time.Duration, error) {
	var sum time.Duration
	rest := s
	for _, u := range long {
		number, after, found := strings.Cut(rest, u.unit)
		if !found {
			continue
		}
		v, err := strconv.ParseUint(number, 10, 16)
		if err != nil || time.Duration(v) > (math.MaxInt64-sum)/u.Duration {
			return 0, fmt.Errorf("duration %.40q: invalid", s)
		}
		if sum += time.Duration(v) * u.Duration; after == "" {
			return sum, nil
		}
		rest = after
	}
	d, err := time.ParseDuration(rest)
	if err == nil && (d < 0 && sum > 0 || d > math.MaxInt64-sum) {
		err = fmt.Errorf("duration %.40q: out of range", s)
	}
	return sum + d, err
}

// ParseBytes reads a size. As in Prometheus, 1KB is 1024 bytes, and so is 1KiB.
func ParseBytes(s string) (Bytes, error) {
	number, shift := strings.TrimSuffix(s, "B"), 0
	if at := strings.TrimSuffix(number, "i"); at != "" && number != s {
		if i := strings.IndexByte("KMGTPE", at[len(at)-1]); i >= 0 {
			number, shift = strings.TrimSpace(at[:len(at)-1]), 10*(i+1)
		}
	}
	v, err := strconv.ParseInt(number, 10, 64)
	if err == nil && v > math.MaxInt64>>shift {
		err = fmt.Errorf("size %.40q: out of range", s)
	}
	return Bytes(v << shift), err
}

func (b Bytes) String() string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := Bytes(1) << (10 * (4 - i)); b >= size && b%size == 0 {
			return fmt.Sprintf("%d%s", b/size, unit)
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
