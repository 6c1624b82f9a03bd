package bundle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/gzip"
)

// maxLine is the longest line of a table.
const maxLine = 64 << 10

// table is an open CSV file, decompressed where its name ends in .gz.
type table struct {
	io.Reader
	file fs.File
}

func (t *table) Close() error { return t.file.Close() }

// openTable opens a table by its plain name, or that with .gz; both at once is
// an error. It returns the name it took.
func openTable(files fs.FS, name string) (*table, string, error) {
	plain, err := files.Open(name)
	packed, perr := files.Open(name + ".gz")
	switch {
	case err == nil && perr == nil:
		plain.Close()
		packed.Close()
		return nil, name, fmt.Errorf("%s.gz is there too: which one counts?", name)
	case err == nil:
		return &table{plain, plain}, name, nil
	case perr != nil:
		if errors.Is(err, fs.ErrNotExist) {
			err = perr
		}
		return nil, name, err
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(packed, 256<<10))
	if err != nil {
		packed.Close()
		return nil, name + ".gz", err
	}
	return &table{z, packed}, name + ".gz", nil
}

// lines reads a file line by line without copying.
type lines struct {
	r      *bufio.Reader
	number int
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, maxLine)} }

// next returns the next line without its end; it is valid until the next call.
func (l *lines) next() ([]byte, error) {
	l.number++
	b, err := l.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line longer than %d bytes", maxLine)
	case errors.Is(err, io.EOF) && len(b) > 0:
	case err != nil:
		return nil, err
	}
	b = bytes.TrimSuffix(b, []byte{'\n'})
	return bytes.TrimSuffix(b, []byte{'\r'}), nil
}

// splitRow splits a line of CSV (RFC 4180, but no line breaks inside fields)
// into fields. Quoted fields are unquoted in place.
func splitRow(b []byte, out [][]byte) ([][]byte, error) {
	for {
		if len(b) == 0 || b[0] != '"' {
			i := bytes.IndexByte(b, ',')
			if i < 0 {
				i = len(b)
			}
			if bytes.IndexByte(b[:i], '"') >= 0 {
				return out, errors.New("a quote inside a field that is not quoted")
			}
			out = append(out, b[:i])
			if i == len(b) {
				return out, nil
			}
			b = b[i+1:]
			continue
		}
		field, rest, err := cutQuoted(b)
		if err != nil {
			return out, err
		}
		out = append(out, field)
		if len(rest) == 0 {
			return out, nil
		}
		if rest[0] != ',' {
			return out, errors.New("something follows a closing quote")
		}
		b = rest[1:]
	}
}

// cutQuoted takes the quoted field at the start of b off.
func cutQuoted(b []byte) (field, rest []byte, err error) {
	n := 1
	for i := 1; i < len(b); i++ {
		switch {
		case b[i] != '"':
			b[n] = b[i]
			n++
		case i+1 < len(b) && b[i+1] == '"':
			b[n] = '"'
			n++
			i++
		default:
			return b[1:n], b[i+1:], nil
		}
	}
	return nil, nil, errors.New("a quote is not closed")
}
