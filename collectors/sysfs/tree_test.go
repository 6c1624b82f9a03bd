package sysfs

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// forest is a tree in memory that can be changed and broken while it is read.
// Its files are those of a txtar archive; a file whose text begins with "-> " is
// a symbolic link, one that begins with "!" cannot be read for the reason named
// ("!EINVAL"), or not even be opened ("!open EACCES").
type forest struct {
	mu     sync.Mutex
	files  map[string]string
	opened int           // files open now
	reads  int           // readings so far
	slow   time.Duration // what a reading takes, where pause says so
	pause  func(time.Duration)
}

func grow(files []txtar.File) *forest {
	f := &forest{files: map[string]string{}}
	for _, file := range files {
		f.files[file.Name] = string(file.Data)
	}
	return f
}

func (f *forest) set(name, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name] = text
}

// cut takes everything below a name away; graft gives it back, or the like
// under another name.
func (f *forest) cut(name string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]string{}
	for n, text := range f.files {
		if rest, ok := strings.CutPrefix(n, name); ok && (rest == "" || rest[0] == '/') {
			out[rest] = text
			delete(f.files, n)
		}
	}
	return out
}

func (f *forest) graft(name string, files map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for rest, text := range files {
		f.files[name+rest] = text
	}
}

// resolve follows the links in a name.
func (f *forest) resolve(name string) string {
	for range 16 {
		name = path.Clean(name)
		next := name
		for i, c := range name + "/" {
			if c != '/' {
				continue
			}
			if target, ok := strings.CutPrefix(f.files[name[:i]], "-> "); ok {
				next = path.Join(path.Dir(name[:i]), strings.TrimSpace(target), name[i:])
				break
			}
		}
		if next == name {
			break
		}
		name = next
	}
	return name
}

func (f *forest) link(name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	full := path.Join(f.resolve(path.Dir(name)), path.Base(name))
	target, ok := strings.CutPrefix(f.files[full], "-> ")
	if !ok {
		return "", syscall.ENOENT
	}
	return strings.TrimSpace(target), nil
}

func (f *forest) list(name string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir := f.resolve(name) + "/"
	if dir == "./" {
		dir = ""
	}
	found := map[string]bool{}
	for n := range f.files {
		if rest, ok := strings.CutPrefix(n, dir); ok {
			first, _, _ := strings.Cut(rest, "/")
			found[first] = true
		}
	}
	if len(found) == 0 {
		return nil, fs.ErrNotExist
	}
	return slices.Sorted(maps.Keys(found)), nil
}

var errnos = []struct {
	name  string
	errno syscall.Errno
}{
	{"EINVAL", syscall.EINVAL}, {"ENODEV", syscall.ENODEV}, {"EACCES", syscall.EACCES}, {"EIO", syscall.EIO},
	{"ENOSYS", syscall.ENOSYS}, {"ETIMEDOUT", syscall.ETIMEDOUT}, {"EMFILE", syscall.EMFILE}, {"EOPNOTSUPP", syscall.EOPNOTSUPP},
}

func errnoOf(text string) error {
	for _, e := range errnos {
		if strings.HasPrefix(text, e.name) {
			return e.errno
		}
	}
	return nil
}

// sprig is an open file of a forest.
type sprig struct {
	forest *forest
	name   string
}

func (f *forest) open(name string) (openFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = f.resolve(name)
	text, ok := f.files[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	if why, ok := strings.CutPrefix(text, "!open "); ok {
		return nil, errnoOf(why)
	}
	f.opened++
	return &sprig{f, name}, nil
}

func (s *sprig) read(buf []byte) (int, error) {
	f := s.forest
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.pause != nil && f.slow > 0 {
		f.pause(f.slow)
	}
	text, ok := f.files[s.name]
	if !ok {
		return 0, syscall.ENODEV // the device behind an open file is gone
	}
	if why, ok := strings.CutPrefix(text, "!"); ok {
		return 0, errnoOf(why)
	}
	return copy(buf, text), nil
}

func (s *sprig) close() {
	s.forest.mu.Lock()
	defer s.forest.mu.Unlock()
	s.forest.opened--
}

// plant writes a forest to the disk. What cannot be read there is a reason to
// skip.
func (f *forest) plant(t testing.TB, dir string) {
	t.Helper()
	for name, text := range f.files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(strings.TrimSpace(target), full)
		} else {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sick reports whether reading some file of the forest fails.
func (f *forest) sick() bool {
	for _, text := range f.files {
		if strings.HasPrefix(text, "!") {
			return true
		}
	}
	return false
}

func archive(t testing.TB, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheForestIsATree(t *testing.T) {
	f := grow(txtar.Parse([]byte("-- a/b --\n1\n-- a/l --\n-> ../c\n-- c/d --\n!EINVAL\n")).Files)
	for name, want := range map[string]string{".": "a c", "a": "b l", "a/l": "d"} {
		if got, err := f.list(name); err != nil || strings.Join(got, " ") != want {
			t.Errorf("list %s: %v, %v", name, got, err)
		}
	}
	if _, err := f.open("a/l/d"); err != nil {
		t.Error(err)
	}
	if _, err := readText(f, "a/l/d"); err != syscall.EINVAL {
		t.Error(err)
	}
	dir := t.TempDir()
	f.plant(t, dir)
	if b, err := os.ReadFile(filepath.Join(dir, "a/l/d")); err != nil || !bytes.Equal(b, []byte("!EINVAL\n")) {
		t.Errorf("%q, %v", b, err)
	}
}
