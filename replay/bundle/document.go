package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

const maxDocument = 256 << 20

// document is a JSON file whose parts know their lines.
type document struct {
	file string // base name
	text []byte
	base int64 // offset of text in the file's own text, for parts
	all  []byte
}

func readDocument(files fs.FS, name string) (*document, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxDocument {
		return nil, fmt.Errorf("more than %d bytes", maxDocument)
	}
	return &document{file: name, text: b, all: b}, nil
}

func (d *document) at(offset int64) place {
	return place{d.file, lineAt(d.all, d.base+offset)}
}

// part is the document of a value that is contained in d and ends at an offset.
func (d *document) part(value json.RawMessage, end int64) *document {
	return &document{file: d.file, text: value, all: d.all, base: d.base + end - int64(len(value))}
}

// where returns the place that a JSON error refers to.
func (d *document) where(dec *json.Decoder, err error) place {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return d.at(max(syntax.Offset-1, 0))
	case errors.As(err, &kind):
		return d.at(max(kind.Offset-1, 0))
	}
	return d.at(dec.InputOffset())
}

// object reads an object whose keys are all known; fields gives for each key a
// pointer to decode into, or a func(*document). An unknown key is a warning, a
// repeated one an error. It reports whether the object could be read.
func (d *document) object(r *report, fields map[string]any) bool {
	dec := json.NewDecoder(bytes.NewReader(d.text))
	if err := opening(dec, '{'); err != nil {
		r.fail(d.where(dec, err), "", err)
		return false
	}
	var seen []string
	for dec.More() {
		start := dec.InputOffset()
		t, err := dec.Token()
		if err != nil {
			r.fail(d.where(dec, err), "", jsonError(err))
			return false
		}
		key, _ := t.(string)
		if slices.Contains(seen, key) {
			r.fail(d.at(start), key, errors.New("stated twice"))
		}
		seen = append(seen, key)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			r.fail(d.where(dec, err), key, jsonError(err))
			return false
		}
		d.field(r, fields[key], key, d.part(raw, dec.InputOffset()))
	}
	return d.close(r, dec)
}

// field decodes one value of an object.
func (d *document) field(r *report, into any, key string, value *document) {
	switch into := into.(type) {
	case nil:
		r.warn(value.at(0), "unknown key %q, ignored", key)
	case func(*document):
		into(value)
	default:
		dec := json.NewDecoder(bytes.NewReader(value.text))
		if err := dec.Decode(into); err != nil {
			r.fail(value.where(dec, err), key, jsonError(err))
		}
	}
}

// array gives every element of an array to fn until it returns false.
func (d *document) array(r *report, fn func(i int, e *document) bool) {
	dec := json.NewDecoder(bytes.NewReader(d.text))
	if string(bytes.TrimSpace(d.text)) == "null" {
		return
	}
	if err := opening(dec, '['); err != nil {
		r.fail(d.where(dec, err), "", err)
		return
	}
	for i := 0; dec.More(); i++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			r.fail(d.where(dec, err), "", jsonError(err))
			return
		}
		if !fn(i, d.part(raw, dec.InputOffset())) {
			return
		}
	}
	d.close(r, dec)
}

// close reads the closing bracket and makes sure that nothing follows.
func (d *document) close(r *report, dec *json.Decoder) bool {
	if _, err := dec.Token(); err != nil {
		r.fail(d.where(dec, err), "", jsonError(err))
		return false
	}
	if t, err := dec.Token(); !errors.Is(err, io.EOF) {
		r.fail(d.at(dec.InputOffset()), "", fmt.Errorf("something follows the end of the document: %v", t))
		return false
	}
	return true
}

func opening(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err != nil {
		return jsonError(err)
	}
	if t != want {
		return fmt.Errorf("%v: want %v", t, want)
	}
	return nil
}

// jsonError puts an error of encoding/json into words without Go in them.
func jsonError(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the document ends too early")
	case errors.As(err, &kind):
		return fmt.Errorf("%s: want %s", kind.Value, kind.Type)
	}
	return err
}
