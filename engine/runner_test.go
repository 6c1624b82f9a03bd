package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// clockwork is a machine that opens an incident at every tenth tick and
// resolves it three ticks later. Its state is the number of ticks.
type clockwork struct {
	ticks    int
	scratch  []explain.Incident // written again in every step, as a machine may
	restored []explain.Incident // by a warm start; no part of a snapshot
}

func (c *clockwork) WarmStart(open []explain.Incident) { c.restored = open }

func (c *clockwork) Step(r *telemetry.Record) []explain.Incident {
	c.scratch = c.scratch[:0]
	if r.Kind != telemetry.TickRecord {
		return nil
	}
	c.ticks++
	if n, phase := c.ticks/10, c.ticks%10; n > 0 && (phase == 0 || phase == 3) {
		in := explain.Incident{ID: fmt.Sprintf("inc-%016x", n), State: explain.StateOpen, Revision: 1, Opened: telemetry.Time(n)}
		if phase == 3 {
			at := r.Tick.At
			in.State, in.Revision, in.Resolved = explain.StateResolved, 2, &at
		}
		in.Root.Entity = telemetry.Entity{Kind: telemetry.NIC, Name: "h1/nic0"}
		in.Root.Domain = telemetry.Network
		in.Impact.Entities = []telemetry.Entity{in.Root.Entity}
		c.scratch = append(c.scratch, in)
	}
	return c.scratch
}

func (c *clockwork) Snapshot(sink func([]byte)) { sink(binary.AppendUvarint(nil, uint64(c.ticks))) }

func (c *clockwork) Restore(b []byte) error {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return errors.New("no number")
	}
	c.ticks = int(v)
	return nil
}

func tick(second int) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: telemetry.Time(second) * telemetry.Time(time.Second)}}
}

// run applies the ticks [from, to), tick n at position n.
func run(t *testing.T, r *Runner, from, to int) (ids []string) {
	t.Helper()
	for n := from; n < to; n++ {
		changed, err := r.Apply(uint64(n), tick(n))
		if err != nil {
			t.Fatal(err)
		}
		for i := range changed {
			ids = append(ids, fmt.Sprintf("%s.%d", changed[i].ID, changed[i].Revision))
		}
	}
	return ids
}

func newClockwork() *Runner { return newRunner(&clockwork{}, identity{"1.0", "r1"}) }

func TestApplyPublishesInOrder(t *testing.T) {
	r := newClockwork()
	got := run(t, r, 1, 25)
	want := []string{"inc-0000000000000001.1", "inc-0000000000000001.2", "inc-0000000000000002.1", "inc-0000000000000002.2"}
	if !slices.Equal(got, want) {
		t.Errorf("published %v, want %v", got, want)
	}
	latest := r.Incidents()
	if len(latest) != 2 || latest[0].Revision != 2 || latest[0].ID > latest[1].ID {
		t.Errorf("newest revisions: %+v", latest)
	}
}

func TestApplyRefusesPositionsThatDoNotRise(t *testing.T) {
	r := newClockwork()
	run(t, r, 5, 6)
	for _, position := range []uint64{5, 4, 0} {
		if _, err := r.Apply(position, tick(6)); err == nil || !strings.Contains(err.Error(), "does not follow 5") {
			t.Errorf("position %d after 5: error %v", position, err)
		}
	}
	if _, err := r.Apply(9, tick(6)); err != nil {
		t.Errorf("a gap in positions is lawful (subjects are filtered): %v", err)
	}
}

func TestApplyRefusesEmptyRecords(t *testing.T) {
	for _, record := range []*telemetry.Record{nil, {Kind: telemetry.SchemaRecord}, {Kind: telemetry.EventRecord}, {Kind: telemetry.EdgeRecord}, {Kind: telemetry.ConfigRecord}} {
		if _, err := newClockwork().Apply(1, record); err == nil {
			t.Errorf("%+v was accepted", record)
		}
	}
}

func TestWhatApplyReturnsIsTheCallers(t *testing.T) {
	r := newClockwork()
	run(t, r, 1, 10)
	changed, err := r.Apply(10, tick(10))
	if err != nil || len(changed) != 1 {
		t.Fatal(changed, err)
	}
	changed[0].Impact.Entities[0].Name = "scribble"
	r.Incidents()[0].Impact.Entities[0].Name = "scribble"
	if got := r.Incidents()[0].Impact.Entities[0].Name; got != "h1/nic0" {
		t.Errorf("the runner's own incident now says %q", got)
	}
}

func TestDigestDiffersBetweenRuns(t *testing.T) {
	a, b, c := newClockwork(), newClockwork(), newClockwork()
	empty := a.Digest()
	run(t, a, 1, 40)
	run(t, b, 1, 40)
	run(t, c, 1, 30)
	if a.Digest() != b.Digest() || a.Digest() == c.Digest() || a.Digest() == empty {
		t.Errorf("digests: %s, %s the same run, %s a shorter one, %s of nothing", a.Digest(), b.Digest(), c.Digest(), empty)
	}
}

func TestSnapshotIsDueEachMinuteOfTicks(t *testing.T) {
	r := newClockwork()
	var due []int
	for n := 1; n <= 200; n++ {
		if _, err := r.Apply(uint64(n), tick(n)); err != nil {
			t.Fatal(err)
		}
		if r.SnapshotDue() {
			due = append(due, n)
			if _, err := r.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []int{60, 120, 180}; !slices.Equal(due, want) {
		t.Errorf("due at %v, want %v", due, want)
	}
	if _, err := r.Apply(201, &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{}}); err != nil || r.SnapshotDue() {
		t.Errorf("due at a record that is not a tick (%v)", err)
	}
}

func TestRestoreContinuesAsIfNeverStopped(t *testing.T) {
	whole := newClockwork()
	run(t, whole, 1, 100)
	for _, at := range []int{2, 11, 50, 99} {
		first, second := newClockwork(), newClockwork()
		run(t, first, 1, at)
		position, err := second.Restore(snapshot(t, first))
		if err != nil || position != uint64(at-1) {
			t.Fatalf("restore: position %d, %v; want %d", position, err, at-1)
		}
		run(t, second, at, 100)
		if second.Digest() != whole.Digest() {
			t.Errorf("restored at %d: another digest", at)
		}
		if a, b := snapshot(t, second), snapshot(t, whole); !bytes.Equal(a, b) {
			t.Errorf("restored at %d: another final state", at)
		}
	}
}

func snapshot(t testing.TB, r *Runner) []byte {
	t.Helper()
	b, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRestoreRefusesOthersSnapshots(t *testing.T) {
	r := newClockwork()
	run(t, r, 1, 30)
	good := snapshot(t, r)
	for _, c := range []struct {
		id   identity
		want error
		says string
	}{
		{identity{"1.1", "r1"}, ErrSnapshotEngine, `it is of "1.0", this is "1.1"`},
		{identity{"1.0", "r2"}, ErrSnapshotRules, `digest "r1", here "r2"`},
	} {
		_, err := newRunner(&clockwork{}, c.id).Restore(good)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: error %v, want %v saying %s", c.id, err, c.want, c.says)
		}
	}
}

func TestRestoreRefusesDamage(t *testing.T) {
	r := newClockwork()
	run(t, r, 1, 30)
	good := snapshot(t, r)
	refused := func(what string, b []byte) {
		if _, err := newClockwork().Restore(b); !errors.Is(err, ErrSnapshotDamaged) {
			t.Errorf("%s: error %v, want %v", what, err, ErrSnapshotDamaged)
		}
	}
	for n := range good {
		refused(fmt.Sprintf("cut to %d bytes", n), good[:n])
		flipped := bytes.Clone(good)
		flipped[n] ^= 0x40
		refused(fmt.Sprintf("byte %d flipped", n), flipped)
	}
}

func FuzzRestore(f *testing.F) {
	r := newRunner(&clockwork{}, identity{"1.0", "r1"})
	for n := 1; n < 30; n++ {
		if _, err := r.Apply(uint64(n), tick(n)); err != nil {
			f.Fatal(err)
		}
	}
	good := snapshot(f, r)
	content, err := unpack(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, body []byte) {
		// Packed with its own checksums, so that what lies behind them is reached.
		r, again := newClockwork(), newClockwork()
		position, err := r.Restore(packed(t, body))
		if err != nil {
			return
		}
		if p, err := again.Restore(snapshot(t, r)); err != nil || p != position || again.Digest() != r.Digest() {
			t.Errorf("the snapshot of a restored runner: position %d of %d, %v", p, position, err)
		}
	})
}

func packed(t testing.TB, content []byte) []byte {
	t.Helper()
	p, err := newPacker(0)
	if err != nil {
		t.Fatal(err)
	}
	p.write(content)
	return p.finish()
}

func TestSlicesCoverTheWork(t *testing.T) {
	for _, s := range []slicer{0, 1, 3, 4, 16} {
		for n := range 40 {
			seen, used := make([]int, n), make([]int, max(1, int(s)))
			s.each(n, func(slice, lo, hi int) {
				used[slice]++
				for i := lo; i < hi; i++ {
					seen[i]++
				}
			})
			if slices.ContainsFunc(seen, func(c int) bool { return c != 1 }) || slices.Max(used) > 1 {
				t.Errorf("%d slices of %d: each item %v times, each slice %v times", s, n, seen, used)
			}
		}
	}
}
