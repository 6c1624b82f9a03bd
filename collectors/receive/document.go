package receive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// document reads a JSON body strictly, token by token: a key is known by its
// exact name and stated once, a value has its kind, and nothing follows the
// end. What is wrong comes back with its place.
type document struct {
	dec      *json.Decoder
	maxItems int
}

func newDocument(r io.Reader, maxItems int) *document {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	return &document{dec: dec, maxItems: maxItems}
}

// next returns the next token; place is where it is wanted.
func (d *document) next(place string) (json.Token, error) {
	t, err := d.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, faultf(place, "the body ends too early")
	case errors.As(err, &syntax):
		return nil, faultf(place, "not JSON: byte %d: %w", d.dec.InputOffset(), err)
	}
	return nil, fmt.Errorf("read the body: %w", err)
}

// end makes sure that nothing follows.
func (d *document) end() error {
	at := d.dec.InputOffset()
	_, err := d.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil && errors.As(err, new(*http.MaxBytesError)):
		return err
	}
	return faultf("", "byte %d: something follows the end", at)
}

// fields are the keys of an object, each with what reads its value.
type fields map[string]func(place string) error

// object reads the keys of an object. Opened means that its brace was read.
func (d *document) object(place string, opened bool, known fields) error {
	if !opened {
		if err := d.open(place, '{', "an object"); err != nil {
			return err
		}
	}
	seen := make(map[string]bool, len(known))
	for d.dec.More() {
		t, err := d.next(place)
		if err != nil {
			return err
		}
		key, _ := t.(string)
		at := under(place, key)
		read := known[key]
		switch {
		case read == nil:
			return faultf(at, "unknown key")
		case seen[key]:
			return faultf(at, "stated twice")
		}
		seen[key] = true
		if err := read(at); err != nil {
			return err
		}
	}
	_, err := d.next(place)
	return err
}

// array reads the elements of an array, at most as many as a request may hold.
// Opened means that its bracket was read.
func (d *document) array(place string, opened bool, read func(place string, i int) error) error {
	if !opened {
		if err := d.open(place, '[', "a list"); err != nil {
			return err
		}
	}
	for i := 0; d.dec.More(); i++ {
		if i >= d.maxItems {
			return &fault{status: http.StatusRequestEntityTooLarge, field: place, err: fmt.Errorf("more than %d in one request", d.maxItems)}
		}
		if err := read(place+"["+strconv.Itoa(i)+"]", i); err != nil {
			return err
		}
	}
	_, err := d.next(place)
	return err
}

func (d *document) open(place string, delim json.Delim, want string) error {
	t, err := d.next(place)
	if err != nil {
		return err
	}
	if t != delim {
		return faultf(place, "%s: want %s", describe(t), want)
	}
	return nil
}

// listOrObject reads a list, or an object that has the list under one of its
// keys.
func (d *document) listOrObject(name string, element func(place string, i int) error, known fields) error {
	t, err := d.next("")
	switch {
	case err != nil:
		return err
	case t == json.Delim('['):
		return d.array(name, true, element)
	case t != json.Delim('{'):
		return faultf("", "%s: want a list, or an object with %s", describe(t), name)
	}
	known[name] = func(place string) error { return d.array(place, false, element) }
	return d.object("", true, known)
}

// text reads a string; null leaves it as it is.
func (d *document) text(into *string) func(string) error {
	return func(place string) error {
		t, err := d.next(place)
		if err != nil || t == nil {
			return err
		}
		s, ok := t.(string)
		if !ok {
			return faultf(place, "%s: want a string", describe(t))
		}
		*into = s
		return nil
	}
}

// number reads a number within [low, high]; null leaves it nil.
func (d *document) number(into **float64, low, high float64) func(string) error {
	return func(place string) error {
		t, err := d.next(place)
		if err != nil || t == nil {
			return err
		}
		n, ok := t.(json.Number)
		if !ok {
			return faultf(place, "%s: want a number", describe(t))
		}
		v, err := n.Float64()
		if err != nil || !(v >= low && v <= high) {
			return faultf(place, "%s: want a number from %g to %g", n, low, high)
		}
		*into = &v
		return nil
	}
}

// integer reads a whole number within [low, high]; null leaves it nil.
func (d *document) integer(into **int64, low, high int64) func(string) error {
	return func(place string) error {
		t, err := d.next(place)
		if err != nil || t == nil {
			return err
		}
		n, ok := t.(json.Number)
		if !ok {
			return faultf(place, "%s: want a whole number", describe(t))
		}
		v, err := n.Int64()
		if err != nil || v < low || v > high {
			return faultf(place, "%s: want a whole number from %d to %d", n, low, high)
		}
		*into = &v
		return nil
	}
}

// instant reads a time as RFC 3339; null leaves it zero.
func (d *document) instant(into *telemetry.Time) func(string) error {
	return func(place string) error {
		var s string
		if err := d.text(&s)(place); err != nil || s == "" {
			return err
		}
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return faultf(place, "%.40q: want a time as 2026-11-21T09:30:00.5Z (RFC 3339)", s)
		}
		if t.Year() < 1970 || t.Year() > 2261 || t.UnixNano() <= 0 {
			return faultf(place, "%s: want a time from 1970 to 2261", s)
		}
		*into = telemetry.Time(t.UnixNano())
		return nil
	}
}

// nanoseconds reads a time as nanoseconds since 1970; null leaves it zero.
func (d *document) nanoseconds(into *telemetry.Time) func(string) error {
	return func(place string) error {
		var ns *int64
		if err := d.integer(&ns, 0, math.MaxInt64)(place); err != nil || ns == nil {
			return err
		}
		*into = telemetry.Time(*ns)
		return nil
	}
}

// entity reads kind:name.
func (d *document) entity(into *telemetry.Entity) func(string) error {
	return func(place string) error {
		var s string
		if err := d.text(&s)(place); err != nil {
			return err
		}
		e, err := telemetry.ParseEntity(s)
		if err != nil {
			return &fault{field: place, err: err}
		}
		*into = e
		return nil
	}
}

// under names a key of an object.
func under(place, key string) string {
	if len(key) > 40 {
		key = key[:40] + "…"
	}
	if place == "" {
		return key
	}
	return place + "." + key
}

// describe names a token that was not wanted.
func describe(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return fmt.Sprintf("the string %.40q", t)
	case json.Number:
		return "the number " + t.String()
	}
	return fmt.Sprint(t)
}
