package outbox

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/quintet-dc/quintet/pipeline/outbox/spill"
)

// faultyDisk is a file system in memory that fails as disks do: a disk that is
// full, a write that ends early, an fsync that fails, and a power cut, after which
// only what was synced is sure to be there. One seed decides all of it.
type faultyDisk struct {
	rand    *rand.Rand
	names   map[string]*inode // the directory
	safe    map[string]*inode // the directory as a power cut may leave it
	trouble trouble
	off     bool
	counts  map[string]int // of what was injected
}

// inode is the content of a file, and what of it is safe.
type inode struct {
	now, safe []byte
}

// trouble is what a disk does wrong for a while.
type trouble int

const (
	diskWorks  trouble = iota
	diskFull           // writes fail, sometimes behind a part of their bytes
	diskErrors         // now and then a write ends early or an fsync fails
	diskUnread         // now and then a read fails
	troubles
)

func newFaultyDisk(seed uint64) *faultyDisk {
	return &faultyDisk{rand: rand.New(rand.NewPCG(seed, 19)), names: map[string]*inode{}, safe: map[string]*inode{}, counts: map[string]int{}}
}

// fails decides whether an operation fails, and how it is counted.
func (d *faultyDisk) fails(what string, in trouble, oneOf int) bool {
	if d.off {
		return true
	}
	if d.trouble != in || d.rand.IntN(oneOf) > 0 {
		return false
	}
	d.counts[what]++
	return true
}

// Open implements spill.Files.
func (d *faultyDisk) Open(path string) (spill.File, error) {
	n := d.names[filepath.Base(path)]
	switch {
	case n == nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case d.fails("failed open", diskUnread, 8):
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EIO}
	}
	return handle{d, n}, nil
}

// Create implements spill.Files.
func (d *faultyDisk) Create(path string) (spill.File, error) {
	if d.fails("no new file", diskFull, 2) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
	}
	n := &inode{}
	d.names[filepath.Base(path)] = n
	return handle{d, n}, nil
}

// Rename implements spill.Files.
func (d *faultyDisk) Rename(from, to string) error {
	if d.fails("failed rename", diskErrors, 8) {
		return &fs.PathError{Op: "rename", Path: from, Err: syscall.EIO}
	}
	d.names[filepath.Base(to)] = d.names[filepath.Base(from)]
	delete(d.names, filepath.Base(from))
	return nil
}

// Remove implements spill.Files.
func (d *faultyDisk) Remove(path string) error {
	if d.off {
		return &fs.PathError{Op: "remove", Path: path, Err: syscall.EIO}
	}
	delete(d.names, filepath.Base(path))
	return nil
}

// Sizes implements spill.Files.
func (d *faultyDisk) Sizes(dir string) (map[string]int64, error) {
	if d.off {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: syscall.EIO}
	}
	out := map[string]int64{}
	for name, n := range d.names {
		out[name] = int64(len(n.now))
	}
	return out, nil
}

// SyncDir implements spill.Files.
func (d *faultyDisk) SyncDir(dir string) error {
	if d.fails("failed fsync", diskErrors, 8) {
		return &fs.PathError{Op: "sync", Path: dir, Err: syscall.EIO}
	}
	d.safe = maps.Clone(d.names)
	return nil
}

// handle is an open file.
type handle struct {
	disk *faultyDisk
	*inode
}

// ReadAt implements spill.File.
func (h handle) ReadAt(p []byte, at int64) (int, error) {
	if h.disk.fails("failed read", diskUnread, 8) {
		return 0, syscall.EIO
	}
	if at >= int64(len(h.now)) {
		return 0, io.EOF
	}
	n := copy(p, h.now[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements spill.File.
func (h handle) WriteAt(p []byte, at int64) (int, error) {
	n, err := len(p), error(nil)
	switch {
	case h.disk.off:
		return 0, syscall.EIO
	case h.disk.fails("no space", diskFull, 2):
		n, err = h.disk.rand.IntN(len(p)+1), syscall.ENOSPC
	case h.disk.fails("short write", diskErrors, 8):
		n, err = h.disk.rand.IntN(len(p)+1), syscall.EIO
	}
	if grown := at + int64(n); grown > int64(len(h.now)) {
		h.now = append(h.now, make([]byte, grown-int64(len(h.now)))...)
	}
	copy(h.now[at:], p[:n])
	return n, err
}

// Truncate implements spill.File.
func (h handle) Truncate(size int64) error {
	if h.disk.fails("failed truncate", diskErrors, 2) {
		return syscall.EIO
	}
	h.now = h.now[:min(size, int64(len(h.now)))]
	return nil
}

// Sync implements spill.File.
func (h handle) Sync() error {
	if h.disk.fails("failed fsync", diskErrors, 4) {
		return syscall.EIO
	}
	h.safe = slices.Clone(h.now)
	return nil
}

// Close implements spill.File.
func (h handle) Close() error { return nil }

// kept lists the files that a power cut leaves, with the durable part of each.
func (d *faultyDisk) kept() map[string][]byte {
	out := map[string][]byte{}
	for name, n := range d.safe {
		if d.names[name] == n {
			out[name] = slices.Clone(n.safe)
		}
	}
	return out
}

// powerCut leaves what was synced. Of a name that was made, replaced or removed
// since, one or the other holds; of bytes that were written since, some are there,
// the last of them torn. The disk takes nothing until it is on again.
func (d *faultyDisk) powerCut() {
	d.off = true
	d.counts["power cut"]++
	all := maps.Clone(d.safe)
	maps.Copy(all, d.names)
	left := map[string]*inode{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n := d.names[name]
		if n != d.safe[name] && d.rand.IntN(2) == 0 {
			n = d.safe[name]
		}
		if n != nil {
			left[name] = d.torn(n)
		}
	}
	d.names, d.safe = left, maps.Clone(left)
}

// torn is what a power cut leaves of a file.
func (d *faultyDisk) torn(n *inode) *inode {
	from, to := min(len(n.safe), len(n.now)), len(n.now)
	b := slices.Clone(n.now)
	copy(b, n.safe)
	if to > from {
		b = b[:from+d.rand.IntN(to-from+1)]
		block := from + d.rand.IntN(len(b)-from+1)
		for i := block; i < min(block+512, len(b)); i++ {
			b[i] = byte(d.rand.IntN(256) * d.rand.IntN(2))
		}
	}
	return &inode{now: b, safe: slices.Clone(b)}
}

// on ends a power cut.
func (d *faultyDisk) on() { d.off, d.trouble = false, diskWorks }

// flip changes a byte of a file, and reports whether there is one.
func (d *faultyDisk) flip() bool {
	var full []*inode
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if n := d.names[name]; len(n.now) > 0 {
			full = append(full, n)
		}
	}
	if len(full) == 0 {
		return false
	}
	n := full[d.rand.IntN(len(full))]
	n.now[d.rand.IntN(len(n.now))] ^= 1 << d.rand.IntN(8)
	d.counts["flipped byte"]++
	return true
}

// asFiles is a disk that works, with some files.
func asFiles(files map[string][]byte) *faultyDisk {
	d := newFaultyDisk(0)
	for name, b := range files {
		d.names[name] = &inode{now: b}
	}
	return d
}
