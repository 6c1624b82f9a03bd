package bus_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

var errEnough = errors.New("enough")

// read follows the log behind a position until it has n entries.
func read(t *testing.T, b *bus.Bus, after uint64, n int) []bus.Entry {
	t.Helper()
	var out []bus.Entry
	err := b.Follow(within(t, 20*time.Second), after, func(e bus.Entry) error {
		if out = append(out, e); len(out) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow: %v after %d of %d entries", err, len(out), n)
	}
	return out
}

func TestAppendAndFollow(t *testing.T) {
	t.Parallel()
	_, b := site(t)
	ctx := within(t, 20*time.Second)
	if first, last, err := b.Bounds(ctx); err != nil || first != 1 || last != 0 {
		t.Errorf("bounds of an empty log: %d to %d, %v", first, last, err)
	}
	if _, ok, err := b.LastTick(ctx); ok || err != nil {
		t.Errorf("last tick of an empty log: %v, %v", ok, err)
	}
	if err := b.Append(ctx, "host.a", event(1, "one"), event(2, "two"), tick(2), tick(2), event(3, "three")); err != nil {
		t.Fatal(err)
	}
	got := read(t, b, 0, 4)
	for i, e := range got {
		if e.Position != uint64(i+1) || e.Err != nil || e.Stored == 0 || e.Size == 0 {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if got[2].Record.Tick.At != at(2) || got[2].Collector != "" || got[3].Record.Event.Text != "three" || got[3].Collector != "host.a" {
		t.Errorf("entries: %+v, %+v", got[2], got[3])
	}
	if tick, ok, err := b.LastTick(ctx); !ok || err != nil || tick != at(2) {
		t.Errorf("last tick: %v, %v, %v", tick, ok, err)
	}
	if e, err := b.Entry(ctx, 3); err != nil || e.Record.Kind != telemetry.TickRecord {
		t.Errorf("entry 3: %+v, %v", e, err)
	}
	if _, err := b.Entry(ctx, 9); !errors.Is(err, bus.ErrNotRetained) {
		t.Errorf("entry 9: %v", err)
	}
}

// Ticks and frames that are stated twice are stored once.
func TestRepeats(t *testing.T) {
	t.Parallel()
	s, b := site(t)
	ctx := within(t, 20*time.Second)
	other := join(t, s, broker.Tick)
	f := newFrames(t)
	first := f.record(1)
	for range 3 {
		if err := b.Append(ctx, "h1", first, tick(5)); err != nil {
			t.Fatal(err)
		}
		// Another ticker, whose clock is not quite the same: one grid, one tick.
		late := &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at(5).Add(7 * time.Millisecond)}}
		if err := other.Append(ctx, "", late); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Append(ctx, "h1", event(9, "end")); err != nil {
		t.Fatal(err)
	}
	got := read(t, b, 0, 3)
	if got[0].Record.Kind != telemetry.FrameRecord || got[1].Record.Tick.At != at(5) || got[2].Record.Event == nil {
		t.Errorf("the log: %+v", got)
	}
}

// A collector gives its own messages the names of ticks to come; time moves on.
func TestTicksUsurped(t *testing.T) {
	t.Parallel()
	s, b := site(t)
	ctx := within(t, 20*time.Second)
	data, err := telemetry.AppendRecord(nil, event(1, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	var mine []bus.Message
	for n := range 3 {
		number := strconv.FormatInt(int64(at(n))/int64(second), 10)
		mine = append(mine, bus.Message{Subject: "quintet.v1.lab.h1.events", ID: "tick/lab/" + number, Data: data})
	}
	if n, err := join(t, s, broker.Collect("h1")).Send(ctx, mine); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	for n := range 3 {
		if err := b.Append(ctx, "", tick(n)); err != nil {
			t.Fatal(err)
		}
		if last, ok, err := b.LastTick(ctx); err != nil || !ok || last != at(n) {
			t.Fatalf("the last tick is %v (%v, %v), want %v", last, ok, err, at(n))
		}
	}
}

// A reader that is slow is not overtaken by large messages (200 of them, 40 MiB,
// wait for it), and one larger than a pull comes through.
func TestLargeEntries(t *testing.T) {
	t.Parallel()
	s, b := site(t)
	ctx := within(t, 60*time.Second)
	var rs []*telemetry.Record
	for i := range 200 {
		content := bytes.Repeat([]byte{byte(i)}, 128<<10)
		if i%50 == 49 {
			content = bytes.Repeat([]byte{byte(i)}, 3<<20)
		}
		rs = append(rs, &telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig("large", at(i), content)})
	}
	done := make(chan error, 1)
	go func() { done <- b.Append(ctx, "", rs...) }()
	set := metrics.NewSet()
	reader, n := join(t, s, broker.Store, func(c *bus.Config) { c.Metrics = set }), 0
	err := reader.Follow(ctx, 0, func(e bus.Entry) error {
		if n == 0 {
			if err := receive(ctx, t, done); err != nil {
				return err
			}
		}
		if e.Err != nil || e.Record.Config.Digest != rs[n].Config.Digest {
			t.Fatalf("entry %d: %v", n, e.Err)
		}
		if n++; n == len(rs) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	var out bytes.Buffer
	set.WritePrometheus(&out)
	if !strings.Contains(out.String(), "quintet_bus_read_restarts_total 0\n") || !strings.Contains(out.String(), "quintet_bus_read_entries_total 200\n") {
		t.Errorf("the reader lost its place on the way:\n%s", out.String())
	}
}

// Send returns how many from the front are stored, and which one never can be.
func TestSend(t *testing.T) {
	t.Parallel()
	_, b := site(t)
	ctx := within(t, 20*time.Second)
	message := func(r *telemetry.Record) bus.Message {
		enc, err := telemetry.AppendRecord(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		m, err := b.Message("h1", enc)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var ms []bus.Message
	for i := range 2000 {
		ms = append(ms, message(event(i, "x")))
	}
	if n, err := b.Send(ctx, ms); n != len(ms) || err != nil {
		t.Fatalf("sent %d of %d: %v", n, len(ms), err)
	}
	ms = ms[:10]
	for name, bad := range map[string]bus.Message{
		"too large":        {Subject: ms[0].Subject, Data: make([]byte, 9<<20)},
		"no subject":       {Data: []byte("x")},
		"nobody stores it": {Subject: "quintet.v1.lab.h1.nothing", Data: []byte("x")},
		"another site's":   {Subject: "quintet.v1.other.h1.events", Data: []byte("x")},
	} {
		with := slices.Concat(ms[:4], []bus.Message{bad}, ms[4:])
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		n, err := b.Send(short, with)
		cancel()
		if n != 4 || err == nil {
			t.Errorf("%s: sent %d, %v; want 4 and an error", name, n, err)
		}
	}
	if n, err := b.Send(ctx, nil); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	for _, bad := range [][]byte{nil, {0}, {99}, {byte(telemetry.FrameRecord)}, {byte(telemetry.TickRecord)}} {
		if _, err := b.Message("h1", bad); !errors.Is(err, bus.ErrRefused) {
			t.Errorf("message of %v: %v", bad, err)
		}
	}
	if _, err := b.Message("", ms[0].Data); !errors.Is(err, bus.ErrRefused) {
		t.Errorf("message of nobody: %v", err)
	}
}

// An entry that is not a record, or is on a subject of another kind, is handed over
// as such and stops nothing.
func TestMalformed(t *testing.T) {
	t.Parallel()
	_, b := site(t)
	ctx := within(t, 20*time.Second)
	enc, err := telemetry.AppendRecord(nil, tick(7))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Append(ctx, "h1", tick(3)); err != nil {
		t.Fatal(err)
	}
	ms := []bus.Message{
		{Subject: "quintet.v1.lab.h1.frames", Data: []byte{77, 1, 2}}, {Subject: "quintet.v1.lab.h1.frames"},
		{Subject: "quintet.v1.lab.h1.events", Data: enc}, {Subject: "quintet.v1.lab.ticks", Data: []byte("{}")},
	}
	if n, err := b.Send(ctx, ms); n != len(ms) || err != nil {
		t.Fatal(n, err)
	}
	for i, e := range read(t, b, 1, len(ms)) {
		if e.Record != nil || e.Err == nil || e.Size != len(ms[i].Data) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if tick, ok, err := b.LastTick(ctx); tick != at(3) || !ok || err != nil {
		t.Errorf("last tick behind a malformed one: %v, %v, %v", tick, ok, err)
	}
}

func TestSlice(t *testing.T) {
	t.Parallel()
	_, b := site(t)
	ctx := within(t, 20*time.Second)
	for n := range 10 {
		if err := b.Append(ctx, "a.1", event(n, "a")); err != nil {
			t.Fatal(err)
		}
		if err := b.Append(ctx, "b", event(n, "b"), tick(n)); err != nil {
			t.Fatal(err)
		}
	}
	all := read(t, b, 0, 30)
	slice := func(s bus.Span) (out []uint64) {
		t.Helper()
		if err := b.Slice(ctx, s, func(e bus.Entry) error { out = append(out, e.Position); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := slice(bus.Span{}); len(got) != 30 || got[0] != 1 || got[29] != 30 {
		t.Errorf("everything: %v", got)
	}
	if got := slice(bus.Span{From: all[6].Stored, To: all[20].Stored}); got[0] != 7 || got[len(got)-1] != 21 {
		t.Errorf("entries 7 to 21: %v", got)
	}
	if got := slice(bus.Span{Collectors: []string{"a.1", "a.1"}, Kinds: []telemetry.RecordKind{telemetry.EventRecord}}); len(got) != 10 || got[1] != 4 {
		t.Errorf("events of a.1: %v", got)
	}
	if got := slice(bus.Span{Collectors: []string{"a.1"}}); len(got) != 20 {
		t.Errorf("of a.1, with ticks: %v", got)
	}
	if got := slice(bus.Span{Kinds: []telemetry.RecordKind{telemetry.TickRecord}, From: all[15].Stored}); got[0] != 18 {
		t.Errorf("ticks from entry 16 on: %v", got)
	}
	for name, s := range map[string]bus.Span{
		"the future": {From: all[29].Stored.Add(time.Hour)}, "before": {To: all[0].Stored - 1},
		"of nobody": {Collectors: []string{"c"}, Kinds: []telemetry.RecordKind{telemetry.EventRecord}}, "of no kind": {Kinds: []telemetry.RecordKind{}},
	} {
		if got := slice(s); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := b.Slice(ctx, bus.Span{}, func(bus.Entry) error { return errEnough }); !errors.Is(err, errEnough) {
		t.Errorf("an error of the reader: %v", err)
	}
}

// A follower ends with its context, and with the bus.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	s, b := site(t)
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	if err := b.Append(ctx, "h1", event(1, "x")); err != nil {
		t.Fatal(err)
	}
	err := b.Follow(ctx, 0, func(bus.Entry) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	other := join(t, s, broker.Store)
	err = other.Follow(within(t, 20*time.Second), 0, func(bus.Entry) error { go other.Close(); return nil })
	if !errors.Is(err, bus.ErrClosed) {
		t.Errorf("follow on a closed bus: %v", err)
	}
}
