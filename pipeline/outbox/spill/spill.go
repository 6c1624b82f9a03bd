package spill

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	segmentSuffix = ".spill"
	partSuffix    = ".part" // being written; of no use after a kill
	lockName      = "lock"
	// firstNumber leaves room before it, numberStep between: thinning puts new
	// segments where old ones were.
	firstNumber = uint64(1) << 40
	numberStep  = uint64(1) << 16
)

// ErrLocked: another process, or another Outbox, has the directory.
var ErrLocked = errors.New("held by another outbox")

// place is a position in the spill.
type place struct {
	number uint64 // of the segment
	offset int64  // 0 is its beginning
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.number, o.number), cmp.Compare(p.offset, o.offset))
}

func (p place) before(o place) bool { return p.compare(o) < 0 }

// segment is one file.
type segment struct {
	number uint64
	size   int64 // of what can be read
	loose  bool  // its bytes may not survive a power cut
}

// Spill is the set of segments in one directory, in the order of their numbers,
// oldest entries first. It must be used by one goroutine.
type Spill struct {
	dir          string
	files        Files
	lock         *os.File
	segmentBytes int64
	schemas      func(telemetry.Fingerprint) []byte // of frames that are spilled

	segments []segment
	writer   *segmentWriter // of the last segment, or nil
	acked    place          // everything before it is stored
	read     place          // everything before it was handed out
	marks    []place        // the ends of the entries handed out and not stored
	loose    bool           // names have changed since the directory was synced
	damaged  int64          // bytes found unreadable since the last look
}

// Open locks a directory, which it makes if need be, and finds what an
// earlier process left there. It wraps ErrLocked where the directory is in use. The
// lock is a file of the machine; segments are in files, the machine's too if nil.
func Open(dir string, files Files, segmentBytes int64, schemas func(telemetry.Fingerprint) []byte) (*Spill, error) {
	if files == nil {
		files = machine{}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spill: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open spill: %w", err)
	}
	s := &Spill{dir: dir, files: files, lock: lock, segmentBytes: segmentBytes, schemas: schemas}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err == nil {
		err = s.find()
	}
	if err != nil {
		return nil, fmt.Errorf("open spill: %s: %w", dir, errors.Join(err, lock.Close()))
	}
	return s, nil
}

// find lists the segments of an earlier process.
func (s *Spill) find() error {
	files, err := s.files.Sizes(s.dir)
	if err != nil {
		return err
	}
	for file, size := range files {
		if strings.HasSuffix(file, partSuffix) {
			if err := s.files.Remove(filepath.Join(s.dir, file)); err != nil {
				return err
			}
		}
		name, ok := strings.CutSuffix(file, segmentSuffix)
		number, err := strconv.ParseUint(name, 16, 64)
		if !ok || err != nil || len(name) != 16 {
			continue
		}
		s.segments = append(s.segments, segment{number, size, true}) // a kill leaves bytes that were never synced
	}
	slices.SortFunc(s.segments, func(a, b segment) int { return cmp.Compare(a.number, b.number) })
	s.Rewind()
	return nil
}

// Rewind makes everything that is not known to be stored unread again.
func (s *Spill) Rewind() { s.read, s.marks = s.acked, nil }

func (s *Spill) path(number uint64, suffix string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x%s", number, suffix))
}

// Empty reports whether no entry is on disk.
func (s *Spill) Empty() bool { return len(s.segments) == 0 }

// Bytes returns the size on disk.
func (s *Spill) Bytes() (n int64) {
	for _, g := range s.segments {
		n += g.size
	}
	return n
}

// Append writes entries behind the newest, all of them or, on error, none.
func (s *Spill) Append(entries iter.Seq[thin.Entry]) error {
	if s.writer != nil && s.writer.full(s.segmentBytes) {
		if err := s.rotate(); err != nil {
			return fmt.Errorf("spill: %w", err)
		}
	}
	if s.writer == nil {
		if err := s.begin(); err != nil {
			return fmt.Errorf("spill: %w", err)
		}
	}
	err := s.writer.append(entries, s.schemas, nil)
	s.segments[len(s.segments)-1].size = s.writer.size
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

func (s *Spill) begin() error {
	number := firstNumber
	if n := len(s.segments); n > 0 {
		number = s.segments[n-1].number + numberStep
	}
	w, err := createSegment(s.files, s.path(number, segmentSuffix))
	if err != nil {
		return err
	}
	s.writer, s.loose = w, true
	s.segments = append(s.segments, segment{number: number, size: w.size})
	return nil
}

// rotate ends the segment that is written.
func (s *Spill) rotate() error {
	w := s.writer
	s.writer = nil
	if w == nil {
		return nil
	}
	err := w.close()
	s.segments[len(s.segments)-1].loose = err != nil
	return errors.Join(err, s.syncNames())
}

// syncNames makes the names in the directory durable, if they have changed. A
// removed file must not come back: in the log its records may have another form.
func (s *Spill) syncNames() error {
	if !s.loose {
		return nil
	}
	err := s.files.SyncDir(s.dir)
	s.loose = err != nil
	return err
}

// PutBack writes entries before the oldest, as the end of a process asks for
// what it had in its hands. Nothing may be handed out.
func (s *Spill) PutBack(entries iter.Seq[thin.Entry]) error {
	if s.Empty() {
		return s.Append(entries)
	}
	number := s.segments[0].number - numberStep
	w, err := createSegment(s.files, s.path(number, partSuffix))
	if err != nil {
		return fmt.Errorf("spill: put back: %w", err)
	}
	err = errors.Join(w.append(entries, s.schemas, nil), w.close())
	if err == nil {
		err = s.files.Rename(s.path(number, partSuffix), s.path(number, segmentSuffix))
	}
	if err != nil {
		return fmt.Errorf("spill: put back: %w", err)
	}
	s.loose = true
	s.segments = slices.Insert(s.segments, 0, segment{number: number, size: w.size})
	s.acked = place{number: number}
	s.Rewind()
	return nil
}

// Hand hands out the oldest entries that were not handed out, as many as fn
// takes. Entries are valid during the call. An error is the disk's; what cannot
// be read for any other reason is passed over and noted as damaged.
func (s *Spill) Hand(fn func(thin.Entry) bool) error {
	for i := range s.segments {
		g := &s.segments[i]
		from := int64(0)
		switch {
		case g.number < s.read.number:
			continue
		case g.number == s.read.number:
			from = s.read.offset
		}
		if from >= g.size {
			continue
		}
		enough, err := s.handSegment(g, from, fn)
		if err != nil {
			return fmt.Errorf("spill: read: %w", err)
		}
		if enough {
			return nil
		}
	}
	if len(s.marks) == 0 { // nothing is out and nothing is left
		return s.clear()
	}
	return nil
}

func (s *Spill) handSegment(g *segment, from int64, fn func(thin.Entry) bool) (enough bool, err error) {
	f, err := s.files.Open(s.path(g.number, segmentSuffix))
	if err != nil {
		return false, err
	}
	end, err := walk(f, from, g.size, func(e thin.Entry, at, next int64) bool {
		if enough = !fn(e); !enough {
			s.read = place{g.number, next}
			s.marks = append(s.marks, s.read)
		}
		return !enough
	})
	err = errors.Join(err, f.Close())
	if errors.Is(err, errDamaged) {
		s.giveUp(g, end)
		err = nil
	}
	return enough, err
}

// giveUp drops the rest of a segment behind an offset.
func (s *Spill) giveUp(g *segment, end int64) {
	s.damaged += g.size - end
	g.size = end
	s.read = place{g.number, end}
	if g.number == s.segments[len(s.segments)-1].number {
		_ = s.discard() // what comes next goes into a sound file
	}
}

// Abandon drops the rest of the segment that cannot be read.
func (s *Spill) Abandon() {
	for i := range s.segments {
		g := &s.segments[i]
		from := int64(0)
		if g.number == s.read.number {
			from = s.read.offset
		}
		if g.number >= s.read.number && from < g.size {
			s.giveUp(g, from)
			return
		}
	}
}

// Ack marks the oldest n entries handed out as stored.
func (s *Spill) Ack(n int) error {
	if n = min(n, len(s.marks)); n == 0 {
		return nil
	}
	s.acked = s.marks[n-1]
	s.marks = s.marks[n:]
	if len(s.marks) == 0 {
		s.marks = nil
		if last := s.segments[len(s.segments)-1]; !s.acked.before(place{last.number, last.size}) {
			return s.clear()
		}
	}
	if s.segments[0].number >= s.acked.number {
		return nil
	}
	for len(s.segments) > 0 && s.segments[0].number < s.acked.number {
		if err := s.remove(0); err != nil {
			return err
		}
	}
	return s.syncNames()
}

// clear removes every segment.
func (s *Spill) clear() error {
	err := s.discard()
	for len(s.segments) > 0 && err == nil {
		err = s.remove(0)
	}
	s.acked, s.read, s.marks = place{}, place{}, nil
	return errors.Join(err, s.syncNames())
}

// discard ends the segment that is written, without care for its bytes.
func (s *Spill) discard() error {
	w := s.writer
	s.writer = nil
	if w == nil {
		return nil
	}
	s.segments[len(s.segments)-1].loose = true
	return w.file.Close()
}

func (s *Spill) remove(i int) error {
	number := s.segments[i].number
	s.segments, s.loose = slices.Delete(s.segments, i, i+1), true
	if err := s.files.Remove(s.path(number, segmentSuffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// Sync makes the entries on disk safe against a power cut.
func (s *Spill) Sync() error {
	if err := s.syncAll(); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

func (s *Spill) syncAll() error {
	err := s.rotate()
	for i := range s.segments {
		if g := &s.segments[i]; g.loose {
			e := s.syncSegment(g.number)
			g.loose = e != nil
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, s.syncNames())
}

func (s *Spill) syncSegment(number uint64) error {
	f, err := s.files.Open(s.path(number, segmentSuffix))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Damaged returns how many unreadable bytes were found since the last call.
func (s *Spill) Damaged() int64 {
	n := s.damaged
	s.damaged = 0
	return n
}

// Close makes the spill durable and unlocks the directory.
func (s *Spill) Close() error {
	return errors.Join(s.syncAll(), s.lock.Close())
}
