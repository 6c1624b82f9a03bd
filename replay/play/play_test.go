package play_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	recorded = "../../testdata/roce/slownic-2"
	never    = telemetry.Duration(-1)
	atOnce   = -1
	second   = telemetry.Duration(time.Second)
)

// memory is a log in memory.
type memory struct {
	log []telemetry.Record
	// appended, if any, is called before records are kept; its error refuses them.
	appended func(rs []*telemetry.Record) error
}

func (m *memory) Append(ctx context.Context, _ string, rs ...*telemetry.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.appended != nil {
		if err := m.appended(rs); err != nil {
			return err
		}
	}
	for _, r := range rs {
		m.log = append(m.log, *r)
	}
	return nil
}

// last returns the last tick, zero if there is none.
func (m *memory) last() telemetry.Time {
	for i := range slices.Backward(m.log) {
		if m.log[i].Kind == telemetry.TickRecord {
			return m.log[i].Tick.At
		}
	}
	return 0
}

// text is the log as bytes that can be compared, one string a record.
func (m *memory) text(t testing.TB) []string {
	t.Helper()
	out := make([]string, len(m.log))
	for i := range m.log {
		b, err := telemetry.AppendRecord(nil, &m.log[i])
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(b)
	}
	return out
}

func open(t testing.TB, path string) *replay.Recording {
	t.Helper()
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	return rec
}

// asTrace is the recording as a trace file.
func asTrace(t testing.TB, dir string) string {
	t.Helper()
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.qtrace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.WriteTrace(f, "test"), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// config plays everything at once, moved by nothing and renewing nothing.
func config(rec *replay.Recording, into play.Log) play.Config {
	first, _ := rec.Span()
	return play.Config{Recording: rec, Into: into, Speed: atOnce, Renew: never, Now: func() telemetry.Time { return first }}
}

// plain is the recorded log as it is, and what the engine says of it.
var plain = sync.OnceValues(func() (*memory, error) {
	rec, err := enginetest.Open(recorded)
	if err != nil {
		return nil, err
	}
	return &memory{log: rec.Log}, nil
})

// told is what the engine publishes for the recorded log.
var told = sync.OnceValues(func() (string, error) {
	m, err := plain()
	if err != nil {
		return "", err
	}
	p, err := enginetest.Play(m.log, 1)
	if err != nil {
		return "", err
	}
	return p.Published, nil
})

// wanted is what the recording brings about, its instants moved by nothing and
// its incidents named in order.
func wanted(t testing.TB) string {
	t.Helper()
	s, err := told()
	if err != nil {
		t.Fatal(err)
	}
	return mapped(t, s, 0)
}

func original(t testing.TB) *memory {
	t.Helper()
	m, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func played(t testing.TB, c play.Config) *memory {
	t.Helper()
	m := &memory{}
	c.Into = m
	if err := play.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return m
}

func published(t testing.TB, m *memory) string {
	t.Helper()
	p, err := enginetest.Play(m.log, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p.Published
}

func same(t testing.TB, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("record %d of %d, %d wanted, differs", i, len(got), len(want))
		}
	}
}

// eachKind runs a test over the recording as a bundle and as a trace.
func eachKind(t *testing.T, test func(t *testing.T, path string)) {
	t.Run("bundle", func(t *testing.T) { test(t, recorded) })
	t.Run("trace", func(t *testing.T) { test(t, asTrace(t, recorded)) })
}

func TestUnmovedIsTheRecordingToTheByte(t *testing.T) {
	eachKind(t, func(t *testing.T, path string) {
		got := played(t, config(open(t, path), nil))
		same(t, got.text(t), original(t).text(t))
	})
}

func TestMovedGivesTheSameIncidentsMoved(t *testing.T) {
	const shift = 1_764_000_123 * second
	want := wanted(t)
	if !strings.Contains(want, `"kind":"incident"`) {
		t.Fatal("the recording gives no incident")
	}
	eachKind(t, func(t *testing.T, path string) {
		c := config(open(t, path), nil)
		first, _ := c.Recording.Span()
		c.Now = func() telemetry.Time { return first.Add(shift) }
		c.Renew = 20 * second
		m := played(t, c)
		if n := len(m.log) - len(original(t).log); n <= 0 {
			t.Errorf("%d records more than recorded: nothing was renewed", n)
		}
		got := published(t, m)
		if d := enginetest.Diff(mapped(t, got, -shift), want); d != "" {
			t.Errorf("moved by %v: %s", shift, d)
		}
	})
}

var (
	instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	clocks   = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
	ids      = regexp.MustCompile(`inc-[0-9a-f]{16}`)
)

// mapped moves every instant in a text by d and names incidents in the order in
// which they come: an id is a hash that takes the grid in.
func mapped(t testing.TB, text string, d telemetry.Duration) string {
	t.Helper()
	names := map[string]string{}
	text = ids.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("incident %d", len(names))
		}
		return names[id]
	})
	text = instants.ReplaceAllStringFunc(text, func(s string) string {
		var at telemetry.Time
		if err := at.UnmarshalText([]byte(s)); err != nil {
			t.Fatal(err)
		}
		return at.Add(d).String()
	})
	return clocks.ReplaceAllStringFunc(text, func(s string) string { // not those within instants: a T stands before
		at, err := time.Parse("15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		return at.Add(d).Format("15:04:05")
	})
}

func TestShiftIsAWholeNumberOfGrids(t *testing.T) {
	rec := open(t, recorded)
	first, last := rec.Span()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		now := telemetry.Time(random.Int64N(4e18))
		c := config(rec, &memory{})
		c.Now = func() telemetry.Time { return now }
		c.From = telemetry.Duration(random.Int64N(int64(2*last.Sub(first)))) - last.Sub(first)/2
		if random.IntN(3) == 0 {
			c.Last = now.Add(-telemetry.Duration(random.Int64N(int64(200 * second))))
		}
		var st play.State
		enough := errors.New("enough")
		c.Begun = func(s play.State) error { st = s; return enough }
		if err := play.Run(t.Context(), c); !errors.Is(err, enough) {
			t.Fatal(err)
		}
		grid := rec.Bundle.Site.Grid
		from := min(max(c.From, 0), last.Sub(first))
		off := now.Sub(first.Add(from + st.Shift))
		switch {
		case st.Shift%grid != 0:
			t.Errorf("now %v, from %v: shift %v is no whole number of grids", now, c.From, st.Shift)
		case c.Last == 0 && (off < 0 || off >= grid):
			t.Errorf("now %v, from %v: From falls %v before now", now, c.From, off)
		case c.Last != 0 && first.Add(st.Shift) <= c.Last:
			t.Errorf("now %v, last %v: begins at %v, in the past of the log", now, c.Last, first.Add(st.Shift))
		case st.Live > now:
			t.Errorf("now %v: the past ends at %v", now, st.Live)
		}
	}
}

func TestEveryTimeIsMoved(t *testing.T) {
	moved := played(t, movedBy(t, asTrace(t, recorded), 7*second)).log
	var decoder telemetry.Decoder
	schemas := map[telemetry.Fingerprint]*telemetry.Schema{}
	for i, r := range original(t).log {
		m := moved[i]
		switch r.Kind {
		case telemetry.SchemaRecord:
			schemas[r.Schema.Fingerprint()] = r.Schema
			if m.Schema.Fingerprint() != r.Schema.Fingerprint() {
				t.Errorf("record %d: another fingerprint", i)
			}
		case telemetry.FrameRecord:
			var a, b telemetry.Frame
			h, err := r.Frame.Header()
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(decoder.Decode(r.Frame, schemas[h.Fingerprint], &a), decoder.Decode(m.Frame, schemas[h.Fingerprint], &b)); err != nil {
				t.Fatal(err)
			}
			if a.Sequence != b.Sequence || a.Incarnation != b.Incarnation || !slices.Equal(a.Words, b.Words) || !slices.Equal(a.States, b.States) {
				t.Fatalf("record %d: the frame says something else", i)
			}
			for k := range a.Instants {
				if !moves(a.Instants[k].Source, b.Instants[k].Source) || !moves(a.Instants[k].Received, b.Instants[k].Received) {
					t.Fatalf("record %d: %v became %v", i, a.Instants[k], b.Instants[k])
				}
			}
		case telemetry.TickRecord:
			if !moves(r.Tick.At, m.Tick.At) {
				t.Fatalf("record %d: tick %v became %v", i, r.Tick.At, m.Tick.At)
			}
		}
	}
}

func moves(from, to telemetry.Time) bool {
	return from == 0 && to == 0 || from != 0 && to == from.Add(7*second)
}

// movedBy plays a recording moved by d, at once.
func movedBy(t testing.TB, path string, d telemetry.Duration) play.Config {
	c := config(open(t, path), nil)
	first, _ := c.Recording.Span()
	c.State = &play.State{Shift: d, Speed: atOnce, First: first}
	return c
}

// small is a trace of a few records of every kind.
func small(t testing.TB, rs ...telemetry.Record) string {
	t.Helper()
	var b bytes.Buffer
	w, err := trace.NewWriter(&b, trace.Header{Site: "small"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rs {
		if err := w.Append(uint64(i+1), &rs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small.qtrace")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tickAt(at telemetry.Time) telemetry.Record {
	return telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}}
}

func TestEdgesEventsAndConfig(t *testing.T) {
	const at, d = telemetry.Time(1e18), 7 * second
	site := telemetry.DefaultSiteConfig()
	conf := site.Record()
	conf.Received = at
	node, nic := telemetry.Entity{Kind: telemetry.Node, Name: "n"}, telemetry.Entity{Kind: telemetry.NIC, Name: "n/0"}
	always := telemetry.Edge{From: node, To: nic, Relation: telemetry.Contains, Source: "file"}
	once := telemetry.Edge{From: node, To: nic, Relation: telemetry.Contains, Source: "other", Start: at, End: at.Add(second), Received: at}
	event := telemetry.Event{Entity: nic, At: at, Received: at.Add(1), Name: telemetry.EventLinkDown, Source: telemetry.Source{Collector: "logs"}}
	untold := event
	untold.Received, untold.Text = 0, "untold"
	c := movedBy(t, small(t, telemetry.Record{Kind: telemetry.ConfigRecord, Config: conf}, telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &always},
		telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &once}, telemetry.Record{Kind: telemetry.EventRecord, Event: &event},
		telemetry.Record{Kind: telemetry.EventRecord, Event: &untold}, tickAt(at.Add(second))), d)
	c.Site = "moon"
	got := played(t, c).log
	if g, err := telemetry.ParseSiteConfig(got[0].Config.Content); err != nil || g.Site != "moon" || got[0].Config.Received != at.Add(d) || got[0].Config.Validate() != nil {
		t.Errorf("config: %+v, %v", got[0].Config, err)
	}
	if e := got[1].Edge; e.Start != 0 || e.End != 0 || e.Received != 0 {
		t.Errorf("an edge that always holds: %+v", e)
	}
	if e := got[2].Edge; e.Start != at.Add(d) || e.End != at.Add(second+d) || e.Received != at.Add(d) {
		t.Errorf("an edge in time: %+v", e)
	}
	if e := got[3].Event; e.At != at.Add(d) || e.Received != at.Add(d+1) {
		t.Errorf("an event: %+v", e)
	}
	if e := got[4].Event; e.At != at.Add(d) || e.Received != 0 {
		t.Errorf("an event without a receipt: %+v", e)
	}
}
