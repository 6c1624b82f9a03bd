package spill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(1e9)

func nobody(telemetry.Fingerprint) []byte { return nil }

func open(t testing.TB, dir string, segmentBytes int64) *Spill {
	t.Helper()
	s, err := Open(dir, nil, segmentBytes, nobody)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain is an entry of no known kind, which is kept as it is.
func plain(text string) thin.Entry { return thin.Entry{Record: []byte("\x7f" + text)} }

func fill(t testing.TB, s *Spill, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := s.Append(slices.Values([]thin.Entry{plain(fmt.Sprint(i))})); err != nil {
			t.Fatal(err)
		}
	}
}

// take hands out up to n entries and returns their texts.
func take(t testing.TB, s *Spill, n int) (out []string) {
	t.Helper()
	if err := s.Hand(func(e thin.Entry) bool {
		if len(out) == n {
			return false
		}
		out = append(out, string(e.Record[1:]))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func numbers(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestOldestFirstAndEachOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 60) // about five entries a segment
	fill(t, s, 0, 30)
	same(t, "the first ten", take(t, s, 10), numbers(0, 10))
	if err := s.Ack(7); err != nil {
		t.Fatal(err)
	}
	same(t, "the next ten", take(t, s, 10), numbers(10, 20))
	s.Rewind()
	same(t, "what was not stored, again", take(t, s, 10), numbers(7, 17))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir, 60) // what is known to be stored is forgotten within a segment
	again := take(t, s, 100)
	if len(again) < 23 || len(again) > 28 || !slices.Equal(again[len(again)-23:], numbers(7, 30)) {
		t.Errorf("the next process finds %v", again)
	}
	fill(t, s, 30, 40)
	same(t, "what came since", take(t, s, 100), numbers(30, 40))
	if err := s.Ack(len(again) + 10); err != nil {
		t.Fatal(err)
	}
	if !s.Empty() || s.Bytes() != 0 {
		t.Errorf("%d bytes are left", s.Bytes())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil || len(files) > 0 {
		t.Errorf("%v are left, %v", files, err)
	}
	fill(t, s, 40, 42)
	same(t, "after it was empty", take(t, s, 100), numbers(40, 42))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 100)
	if _, err := Open(dir, nil, 100, nobody); !errors.Is(err, ErrLocked) {
		t.Errorf("%v, want ErrLocked", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, 100).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsPutBackComesFirst(t *testing.T) {
	s := open(t, t.TempDir(), 100)
	fill(t, s, 10, 20)
	if err := s.PutBack(slices.Values([]thin.Entry{plain("8"), plain("9")})); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 20, 22)
	same(t, "all", take(t, s, 100), numbers(8, 22))
}

func TestPuttingBackIntoNothing(t *testing.T) {
	s := open(t, t.TempDir(), 100)
	if err := s.PutBack(slices.Values([]thin.Entry{plain("0"), plain("1")})); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 2, 4)
	same(t, "all", take(t, s, 100), numbers(0, 4))
}

// segments returns the files of a spill, oldest first.
func segments(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// A kill cuts the last segment anywhere; a disk may return anything. Entries before
// the damage and in other segments are read, and later entries are kept.
func TestDamageCostsWhatLiesBehindIt(t *testing.T) {
	origin := t.TempDir()
	s := open(t, origin, 60)
	fill(t, s, 0, 13) // six, six, one
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names := segments(t, origin)
	if len(names) != 3 {
		t.Fatalf("%d segments", len(names))
	}
	middle, err := os.ReadFile(names[1])
	if err != nil {
		t.Fatal(err)
	}
	for at := range middle {
		for _, damaged := range [][]byte{middle[:at], flip(middle, at)} {
			dir := t.TempDir()
			for _, n := range names {
				b, err := os.ReadFile(n)
				if err != nil {
					t.Fatal(err)
				}
				if n == names[1] {
					b = damaged
				}
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(n)), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, dir, 100)
			fill(t, s, 13, 15)
			got := take(t, s, 100)
			if n := len(got); n < 9 || !slices.Equal(got[:n-3], numbers(0, n-3)) || !slices.Equal(got[n-3:], numbers(12, 15)) {
				t.Fatalf("damage at %d: %v", at, got)
			}
			if len(damaged) == len(middle) && s.Damaged() == 0 {
				t.Fatalf("damage at %d went unnoticed", at)
			}
			if err := errors.Join(s.Ack(len(got)), s.Close()); err != nil {
				t.Fatal(err)
			}
			if !s.Empty() {
				t.Fatalf("damage at %d: something is left", at)
			}
		}
	}
}

func flip(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 0x41
	return b
}

func TestNothingButDamageIsCleared(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0000000000000001.spill"), []byte("what?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "0000000000000002.part"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, 100)
	same(t, "all", take(t, s, 10), nil)
	if !s.Empty() || s.Damaged() != 5 || len(segments(t, dir)) > 0 {
		t.Errorf("%d bytes are left", s.Bytes())
	}
	if _, err := os.Stat(filepath.Join(dir, "0000000000000002.part")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was half written is left: %v", err)
	}
}

func TestAFullDiskTakesNothingAndLosesNothing(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, fmt.Sprintf("%016x%s", firstNumber+numberStep, segmentSuffix))); err != nil {
		t.Fatal(err)
	}
	s := &Spill{dir: dir, files: machine{}, segmentBytes: 60, schemas: nobody}
	fill(t, s, 0, 6)
	if err := s.Append(slices.Values([]thin.Entry{plain("6")})); err == nil {
		t.Error("a full disk took an entry")
	}
	same(t, "what was there before", take(t, s, 100), numbers(0, 6))
}

func TestASegmentThatCannotBeReadIsGivenUpOnDemand(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 60)
	fill(t, s, 0, 10)
	if err := os.Remove(segments(t, dir)[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.Hand(func(thin.Entry) bool { return true }); err == nil {
		t.Fatal("a missing segment was read")
	}
	s.Abandon()
	if got := take(t, s, 100); len(got) == 0 || got[len(got)-1] != "9" || s.Damaged() == 0 {
		t.Errorf("%v is left", got)
	}
}

// gauge states frames of one series.
type gauge struct {
	schema  *telemetry.Schema
	encoder telemetry.Encoder
	frame   telemetry.Frame
}

func newGauge() *gauge {
	return &gauge{schema: &telemetry.Schema{Source: telemetry.Source{Collector: "sysfs", Target: "h1"},
		Entities: []telemetry.Entity{{Kind: telemetry.Node, Name: "h1"}},
		Columns:  []telemetry.Column{{Metric: "port_rx_bytes_total", Type: telemetry.Uint}}}}
}

func (g *gauge) stated(t testing.TB) thin.Entry {
	b, err := telemetry.AppendRecord(nil, &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: g.schema})
	if err != nil {
		t.Fatal(err)
	}
	return thin.Entry{Record: b}
}

func (g *gauge) at(t testing.TB, k int) thin.Entry {
	g.frame.Sequence = uint64(k)
	g.frame.Instants = []telemetry.Instant{{Received: telemetry.Time(1000 * second).Add(telemetry.Duration(k) * second)}}
	g.frame.ByReceived, g.frame.Words = true, []uint64{uint64(k)}
	b, err := g.encoder.AppendFrame([]byte{byte(telemetry.FrameRecord)}, g.schema, &g.frame)
	if err != nil {
		t.Fatal(err)
	}
	return thin.Entry{Record: b}
}

// sequences hands out everything and returns the numbers of the frames, and
// whether each came behind its schema.
func sequences(t testing.TB, s *Spill) (out []uint64) {
	t.Helper()
	said := false
	if err := s.Hand(func(e thin.Entry) bool {
		switch thin.KindOf(e.Record) {
		case telemetry.SchemaRecord:
			said = true
		case telemetry.FrameRecord:
			h, err := telemetry.EncodedFrame(e.Record[1:]).Header()
			if err != nil || !said {
				t.Fatalf("frame %d: %v; its schema was said: %v", h.Sequence, err, said)
			}
			out = append(out, h.Sequence)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEverySegmentStatesItsSchemas(t *testing.T) {
	g := newGauge()
	record := g.stated(t).Record
	dir := t.TempDir()
	s, err := Open(dir, nil, 200, func(fp telemetry.Fingerprint) []byte { return record })
	if err != nil {
		t.Fatal(err)
	}
	for k := range 30 {
		if err := s.Append(slices.Values([]thin.Entry{g.at(t, k)})); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range segments(t, dir) {
		b, err := os.ReadFile(n)
		if err != nil || !bytes.Contains(b, record) {
			t.Errorf("%s does not state its schema, %v", n, err)
		}
	}
	if got := sequences(t, s); len(got) != 30 {
		t.Errorf("frames %v", got)
	}
}

// Entries that were handed out are not thinned, even after two or three passes, and
// their places stay known; the rest gets smaller, in order.
func TestThinningLeavesAloneWhatIsOut(t *testing.T) {
	for _, out := range []int{0, 1, 7, 40} {
		g := newGauge()
		dir := t.TempDir()
		s := open(t, dir, 400)
		if err := s.Append(slices.Values([]thin.Entry{g.stated(t)})); err != nil {
			t.Fatal(err)
		}
		for k := 1; k <= 200; k++ {
			if err := s.Append(slices.Values([]thin.Entry{g.at(t, k), plain("x")})); err != nil {
				t.Fatal(err)
			}
		}
		handed := take(t, s, out)
		if err := s.Ack(out / 3); err != nil {
			t.Fatal(err)
		}
		frames := 200
		for level := 1; level <= 3; level++ {
			gone, err := s.Thin(s.Bytes()/2, thin.Pass{Level: level, Events: 1 << 20, Largest: 1 << 20, Catalogue: telemetry.DefaultCatalogue()})
			if err != nil {
				t.Fatal(err)
			}
			frames -= int(gone.Merged.Frames)
		}
		if n := len(s.marks); n != out-out/3 || frames == 200 {
			t.Errorf("%d out: %d places of %d, %d frames left", out, n, out-out/3, frames)
		}
		if err := s.Ack(out - out/3); err != nil {
			t.Fatal(err)
		}
		got := sequences(t, s)
		if !slices.IsSorted(got) || got[len(got)-1] != 200 || len(got) > frames {
			t.Errorf("%d out (%d handed): frames %v", out, len(handed), got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s = open(t, dir, 400); !s.Empty() && !slices.IsSorted(sequences(t, s)) {
			t.Error("what the next process reads is not in order")
		}
	}
}

func TestThinningThatFailsChangesNothing(t *testing.T) {
	g := newGauge()
	dir := t.TempDir()
	s := open(t, dir, 300)
	if err := s.Append(slices.Values([]thin.Entry{g.stated(t)})); err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 60; k++ {
		if err := s.Append(slices.Values([]thin.Entry{g.at(t, k)})); err != nil {
			t.Fatal(err)
		}
	}
	// The new segment cannot be made: a directory has its name.
	if err := os.Mkdir(s.path(s.segments[0].number, partSuffix), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Thin(s.Bytes(), thin.Pass{Level: 2, Largest: 1 << 20, Catalogue: telemetry.DefaultCatalogue()}); err == nil {
		t.Fatal("thinning wrote into a directory")
	}
	if got := sequences(t, s); len(got) != 60 {
		t.Errorf("%d frames of 60", len(got))
	}
}
