package logs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Bounds of following a file.
const (
	maxPoll    = 1 << 20         // bytes that are read of a file in one go; what is more waits
	maxHistory = 16 << 20        // bytes of a file that are looked through at the first start
	maxHead    = 256             // bytes at a file's beginning by which it is known again
	unfinished = time.Second     // after which a line without its end is taken for one
	justNow    = 2 * time.Second // what is read so soon after the end was reached was written now
)

// position is how far a file was read.
type position struct {
	Offset int64  `json:"offset"`
	Head   string `json:"head"` // digest of the file's first bytes
	Of     int    `json:"of"`   // how many those are
}

// tail follows a file: through rotation, where another file takes its name, and
// truncation.
type tail struct {
	path    string
	file    *os.File
	offset  int64  // of what was handed on
	buf     []byte // what was read beyond that, shorter than a line
	cutting bool   // the rest of a line that is too long is passed over
	grew    time.Time
	young   bool      // what is in buf was written just now
	ended   time.Time // when the end was reached last; zero not in the last reading
	history bool      // what is read was there before the first start
	mark    position  // by which it is known again
}

// taker is given a line, without its end, and whether it was written just now. It
// returns false to receive no more.
type taker func(raw []byte, fresh bool) bool

// begin opens a file where it was left, or where it is read from at the first
// start: its end, or before that where history is asked for.
func (t *tail) begin(p position, known, history bool) error {
	if known {
		for _, path := range []string{t.path, t.path + ".1"} { // it was renamed meanwhile
			if f, err := os.Open(path); err == nil {
				if i, err := f.Stat(); err == nil && i.Size() >= p.Offset && headOf(f, p.Of) == p.Head {
					return t.take(f, p.Offset)
				}
				_ = f.Close()
			}
		}
	}
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	i, err := f.Stat()
	switch {
	case err != nil:
		_ = f.Close()
		return err
	case i.IsDir():
		_ = f.Close()
		return &fs.PathError{Op: "read", Path: t.path, Err: errors.New("is a directory")}
	case known: // another file by now
		return t.take(f, 0)
	case history:
		t.history = true
		from := max(0, i.Size()-maxHistory)
		t.cutting = from > 0
		return t.take(f, from)
	}
	t.ended = time.Time{}
	return t.take(f, i.Size())
}

// take reads on from an offset of a file.
func (t *tail) take(f *os.File, offset int64) error {
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		_ = f.Close()
		return err
	}
	t.close()
	t.file, t.offset, t.buf, t.mark = f, offset, t.buf[:0], position{}
	return nil
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
}

// headOf is the digest of a file's first bytes.
func headOf(f *os.File, n int) string {
	b := make([]byte, max(0, min(n, maxHead)))
	if _, err := f.ReadAt(b, 0); err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// where is how far the file was read.
func (t *tail) where() (position, bool) {
	if t.file == nil {
		return position{}, false
	}
	if t.mark.Of < maxHead {
		if n := int(min(t.offset, maxHead)); n > t.mark.Of || t.mark.Head == "" {
			t.mark = position{Of: n, Head: headOf(t.file, n)}
		}
	}
	t.mark.Offset = t.offset
	return t.mark, true
}

// poll hands on the lines that have come. It returns how many were cut.
func (t *tail) poll(now time.Time, take taker) (cut int, err error) {
	fresh := !t.ended.IsZero() && now.Sub(t.ended) < justNow
	t.ended = time.Time{}
	var chunk [32 << 10]byte
	for read := 0; read < maxPoll; {
		n, err := t.file.Read(chunk[:])
		if n > 0 {
			read += n
			t.grew, t.young = now, fresh
			t.buf = append(t.buf, chunk[:n]...)
			c, more := t.lines(fresh, take)
			if cut += c; !more {
				return cut, nil
			}
			continue
		}
		if err != nil && err != io.EOF {
			return cut, err
		}
		again, err := t.turn()
		if err != nil {
			return cut, err
		}
		if !again {
			t.ended = now
			if len(t.buf) > 0 && now.Sub(t.grew) >= unfinished {
				t.buf = append(t.buf, '\n')
				c, _ := t.lines(t.young, take)
				cut += c
				if len(t.buf) == 0 {
					t.offset-- // the end that was not there
				} else {
					t.buf = t.buf[:len(t.buf)-1]
				}
			}
			t.history = t.history && len(t.buf) > 0
			return cut, nil
		}
	}
	return cut, nil
}

// lines hands on those that are complete.
func (t *tail) lines(fresh bool, take taker) (cut int, more bool) {
	rest := t.buf
	more = true
	for more {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		raw := rest[:end]
		switch {
		case t.cutting:
			t.cutting = false
		case len(raw) > maxLine:
			cut++
			more = take(raw[:maxLine], fresh)
		default:
			more = take(raw, fresh)
		}
		if more {
			t.offset += int64(end + 1)
			rest = rest[end+1:]
		}
	}
	if more && len(rest) > maxLine {
		if !t.cutting {
			cut++
			more = take(rest[:maxLine], fresh)
		}
		if more {
			t.offset += int64(len(rest))
			t.cutting, rest = true, nil
		}
	}
	t.buf = append(t.buf[:0], rest...)
	return cut, more
}

// turn is what happens at a file's end: another file has its name, or it was
// cut. It reports whether there is more to read.
func (t *tail) turn() (bool, error) {
	named, err := os.Stat(t.path)
	if err != nil {
		return false, err // away; what is open is read on, should it grow
	}
	here, err := t.file.Stat()
	if err != nil {
		return false, err
	}
	if !os.SameFile(named, here) {
		f, err := os.Open(t.path)
		if err != nil {
			return false, err
		}
		t.cutting = false
		return true, t.take(f, 0)
	}
	if here.Size() < t.offset+int64(len(t.buf)) {
		if _, err := t.file.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		t.offset, t.buf, t.cutting, t.mark = 0, t.buf[:0], false, position{}
		return here.Size() > 0, nil
	}
	return false, nil
}
