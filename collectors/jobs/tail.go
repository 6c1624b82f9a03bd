package jobs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/quintet-dc/quintet/collectors"
)

// Limits of what is read of a file.
const (
	longestLine = 64 << 10
	perRound    = 8 << 20 // bytes of one file; the rest comes next round
)

// tail follows a file that is written, rotated or cut.
type tail struct {
	path string
	file *os.File
	at   int64
	part []byte // of a line whose end has not come
	skip bool   // the rest of an overlong line
}

// open begins a file, at its end unless whole.
func (t *tail) open(whole bool) error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	t.file, t.at, t.part, t.skip = f, 0, t.part[:0], false
	if whole {
		return nil
	}
	t.at, err = f.Seek(0, io.SeekEnd)
	if err != nil {
		t.close()
		return err
	}
	if t.at > 0 { // it may stand in the middle of a line
		var last [1]byte
		if _, err := f.ReadAt(last[:], t.at-1); err == nil && last[0] != '\n' {
			t.skip = true
		}
	}
	return nil
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
}

// read gives every line that has come to take. A file that was replaced is read
// to its end first, then the new one from its beginning.
func (t *tail) read(dropped func(collectors.Reason, int), take func(line []byte)) error {
	if t.file == nil {
		if err := t.open(true); err != nil {
			return err
		}
	}
	left := perRound
	if err := t.drain(&left, dropped, take); err != nil {
		return err
	}
	own, err := t.file.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.close()
		return err
	case err != nil:
		return err
	case left <= 0:
		return nil
	case !os.SameFile(own, now):
		t.close()
		if err := t.open(true); err != nil {
			return err
		}
	case now.Size() < t.at:
		if t.at, err = t.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		t.part, t.skip = t.part[:0], false
	default:
		return nil
	}
	return t.drain(&left, dropped, take)
}

func (t *tail) drain(left *int, dropped func(collectors.Reason, int), take func([]byte)) error {
	buffer := make([]byte, 64<<10)
	for *left > 0 {
		n, err := t.file.Read(buffer[:min(len(buffer), *left)])
		t.at, *left = t.at+int64(n), *left-n
		t.lines(buffer[:n], dropped, take)
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lines splits what was read into lines. One that is too long is counted, and
// skipped to its end.
func (t *tail) lines(b []byte, dropped func(collectors.Reason, int), take func([]byte)) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			if !t.skip {
				t.part = append(t.part, b...)
			}
			if len(t.part) > longestLine {
				t.part, t.skip = t.part[:0], true
				dropped(collectors.OverLimit, 1)
			}
			return
		}
		switch {
		case t.skip:
			t.skip = false
		case len(t.part) > 0:
			take(append(t.part, b[:i]...))
		default:
			take(b[:i])
		}
		t.part = t.part[:0]
		b = b[i+1:]
	}
}
