package store

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/telemetry"
)

// t0 is when the tests' logs begin: at the beginning of a slot.
const t0 = telemetry.Time(1_800_000_000e9)

// site is a log that is fed entry by entry, and the database that it feeds.
type site struct {
	t     testing.TB
	dir   string
	db    *tsdb.DB
	feed  *feed
	log   []bus.Entry
	frame telemetry.Encoder
	seq   uint64
}

func newSite(t testing.TB, c Config) *site {
	s := &site{t: t, dir: filepath.Join(t.TempDir(), "history")}
	s.open(c)
	return s
}

// open opens the history as a process does that starts.
func (s *site) open(c Config) {
	c.Log, c.Dir = nowhere{}, s.dir
	st, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.db, err = st.open(prometheus.NewRegistry()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.db.Close() })
	s.feed = newFeed(st.cfg, s.db, st.count)
	if s.feed.last, err = lastWritten(s.db); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) take(r *telemetry.Record) {
	s.log = append(s.log, bus.Entry{Position: uint64(len(s.log) + 1), Collector: "host", Record: r})
	s.give(s.log[len(s.log)-1])
}

func (s *site) give(e bus.Entry) {
	if err := s.feed.take(e); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) tick(at telemetry.Time) {
	s.take(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}})
}

// state states a schema.
func (s *site) state(x *telemetry.Schema) {
	s.take(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: x})
}

// say states a row of a schema: NaN is a gap, -1 nothing.
func (s *site) say(x *telemetry.Schema, at telemetry.Time, values ...float64) {
	s.t.Helper()
	s.seq++
	f := telemetry.Frame{Fingerprint: x.Fingerprint(), Sequence: s.seq, Instants: []telemetry.Instant{{Source: at}},
		Words: make([]uint64, x.Len()), States: make([]telemetry.State, x.Len())}
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			f.States[i] = telemetry.Gap
		case v >= 0:
			f.States[i], f.Words[i] = telemetry.Present, x.Columns[i/len(x.Entities)].Word(v)
		}
	}
	b, err := s.frame.AppendFrame(nil, x, &f)
	if err != nil {
		s.t.Fatal(err)
	}
	s.take(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
}

// sample is one of the database.
type sample struct {
	at int64 // ms since t0
	v  float64
}

// read returns what the database holds, series by series.
func (s *site) read() map[string][]sample {
	s.t.Helper()
	s.feed.commit()
	q, err := s.db.Querier(0, math.MaxInt64)
	if err != nil {
		s.t.Fatal(err)
	}
	defer q.Close()
	out := map[string][]sample{}
	set := q.Select(s.t.Context(), true, nil, labels.MustNewMatcher(labels.MatchNotEqual, label.Kind, ""))
	for set.Next() {
		x := set.At()
		name := fmt.Sprintf("%s %s", label.About(x.Labels().Map()), x.Labels().Get(model.MetricNameLabel))
		for it := x.Iterator(nil); it.Next() != chunkenc.ValNone; {
			at, v := it.At()
			out[name] = append(out[name], sample{at - millis(t0), v})
		}
	}
	if err := set.Err(); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// told writes samples as text: seconds=value, x for a marker.
func told(in []sample) string {
	var out []string
	for _, x := range in {
		v := fmt.Sprint(x.v)
		if value.IsStaleNaN(x.v) {
			v = "x"
		}
		out = append(out, fmt.Sprintf("%g=%s", float64(x.at)/1e3, v))
	}
	return strings.Join(out, " ")
}

func (s *site) want(want map[string]string) {
	s.t.Helper()
	got := s.read()
	for name, samples := range got {
		if told(samples) != want[name] {
			s.t.Errorf("%s\n got %s\nwant %s", name, told(samples), want[name])
		}
	}
	for name := range want {
		if got[name] == nil {
			s.t.Errorf("%s is missing", name)
		}
	}
}

// nowhere is a log for configurations that want one.
type nowhere struct{ Log }

func seconds(s float64) telemetry.Time { return t0 + telemetry.Time(s*1e9) }

// watts returns the schema of a source that reports the power of the given GPUs at
// the given interval.
func watts(name string, every time.Duration, gpus ...string) *telemetry.Schema {
	x := &telemetry.Schema{Source: telemetry.Source{Collector: "nvml", Target: name}, Cadence: every,
		Columns: []telemetry.Column{{Metric: "gpu_power_watts", Type: telemetry.Decimal, Exp: 1}}}
	for _, g := range gpus {
		x.Entities = append(x.Entities, telemetry.Entity{Kind: telemetry.GPU, Name: g})
	}
	return x
}

// TestOneOfEachCadence: of a source that reports every second the newest value of
// each ten seconds is kept, at its own time.
func TestOneOfEachCadence(t *testing.T) {
	s := newSite(t, Config{})
	x := watts("n1", time.Second, "n1/0", "n1/1")
	s.state(x)
	for i := range 35 {
		second := -1.0 // says nothing but at its beginning
		if i < 12 {
			second = float64(i)
		}
		s.say(x, seconds(float64(i)), float64(100+i), second)
		s.tick(seconds(float64(i)))
	}
	s.want(map[string]string{
		"gpu:n1/0 gpu_power_watts": "9=109 19=119 29=129",
		"gpu:n1/1 gpu_power_watts": "9=9 11=11",
	})
}

// TestWhatIsSlowIsKeptWhole: a source that reports every ten seconds or more rarely
// is written as it arrives.
func TestWhatIsSlowIsKeptWhole(t *testing.T) {
	s := newSite(t, Config{})
	x := watts("n1", 10*time.Second, "n1/0")
	s.state(x)
	for _, at := range []float64{0.1, 10, 19.9, 30.2} {
		s.say(x, seconds(at), at)
	}
	s.want(map[string]string{"gpu:n1/0 gpu_power_watts": "0.1=0.1 10=10 19.9=19.9 30.2=30.2"})
}

// TestSilence: a gap is a marker, and so are three cadences without data, at the
// moment at which the source was late; later data continues the series.
func TestSilence(t *testing.T) {
	s := newSite(t, Config{})
	x := watts("n1", time.Second, "n1/0", "n1/1")
	s.state(x)
	s.say(x, seconds(1), 1, 1)
	s.say(x, seconds(11), 2, math.NaN())
	s.say(x, seconds(21), 3, math.NaN())
	for i := 22; i < 80; i++ {
		s.tick(seconds(float64(i)))
	}
	s.say(x, seconds(81), 4, 4)
	s.say(x, seconds(91), 5, -1)
	s.want(map[string]string{
		"gpu:n1/0 gpu_power_watts": "1=1 11=2 21=3 53=x 81=4",
		"gpu:n1/1 gpu_power_watts": "1=1 11=x 81=4",
	})
}

// TestANewSchema: what a new schema of a source no longer holds becomes stale,
// what it holds goes on without a break.
func TestANewSchema(t *testing.T) {
	s := newSite(t, Config{})
	before, after := watts("n1", time.Second, "n1/0", "n1/1"), watts("n1", time.Second, "n1/0")
	s.state(before)
	s.say(before, seconds(1), 1, 1)
	s.state(after)
	for i := 11; i < 70; i += 10 {
		s.say(after, seconds(float64(i)), float64(i))
		s.tick(seconds(float64(i)))
	}
	s.want(map[string]string{
		"gpu:n1/0 gpu_power_watts": "1=1 11=11 21=21 31=31 41=41 51=51",
		"gpu:n1/1 gpu_power_watts": "1=1 33=x",
	})
}

// TestTwoSources: of two sources of one series the first is written until it has
// been silent for three cadences.
func TestTwoSources(t *testing.T) {
	s := newSite(t, Config{})
	a, b := watts("a", time.Second, "n1/0"), watts("b", time.Second, "n1/0")
	s.state(a)
	s.state(b)
	for i := range 12 {
		at := float64(10*i + 1)
		if i < 4 {
			s.say(a, seconds(at), 1)
		}
		s.say(b, seconds(at+1), 2)
		s.tick(seconds(at + 1))
	}
	s.want(map[string]string{"gpu:n1/0 gpu_power_watts": "1=1 11=1 21=1 31=1 63=x 72=2 82=2 92=2 102=2"})
}

// TestLate: a frame older than the written samples is written if the database still
// accepts it; one that is ahead of the log's time is not.
func TestLate(t *testing.T) {
	s := newSite(t, Config{})
	x := watts("n1", time.Second, "n1/0")
	s.state(x)
	s.tick(seconds(0))
	s.say(x, seconds(1), 1)
	s.tick(seconds(600))
	s.say(x, seconds(601), 2)
	s.say(x, seconds(301), 3)
	s.say(x, seconds(7200), 4)
	s.tick(seconds(620))
	s.want(map[string]string{"gpu:n1/0 gpu_power_watts": "1=1 33=x 301=3 601=2"})
	if n := s.feed.count.future.Get(); n != 1 {
		t.Errorf("%d samples were ahead of time, want 1", n)
	}
}

// TestBudget: no more series than may be, and those that were there first go on.
func TestBudget(t *testing.T) {
	s := newSite(t, Config{MaxSeries: 2, Drop: []string{"node_*"}})
	x := watts("n1", time.Second, "n1/0", "n1/1", "n1/2", "n1/3")
	x.Columns = append(x.Columns, telemetry.Column{Metric: "node_power_watts", Type: telemetry.Uint})
	s.state(x)
	for i := range 3 {
		s.say(x, seconds(float64(10*i)), 1, 2, 3, 4, 5)
	}
	s.want(map[string]string{"gpu:n1/0 gpu_power_watts": "0=1 10=1", "gpu:n1/1 gpu_power_watts": "0=2 10=2"})
	if n := s.feed.count.budget.Get(); n != 2 {
		t.Errorf("the budget stopped %d series, want 2", n)
	}
}

// TestThinningAgainstANaiveOne compares the feed with a thinner that keeps
// everything, over random logs of sources that report in order.
func TestThinningAgainstANaiveOne(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newSite(t, Config{})
		x := watts("n1", time.Duration(1+r.IntN(5))*time.Second, "n1/0", "n1/1", "n1/2")
		s.state(x)
		all := map[string][]sample{}
		end := 0.0
		for at := r.Float64(); at < 300; at += 0.2 + 4*r.Float64() {
			end = at
			row := make([]float64, 3)
			for i := range row {
				row[i] = float64(r.IntN(1000)) / 10
				if r.IntN(4) == 0 {
					row[i] = -1
					continue
				}
				name := "gpu:" + x.Entities[i].Name + " gpu_power_watts"
				all[name] = append(all[name], sample{millis(seconds(at)) - millis(t0), row[i]})
			}
			s.say(x, seconds(at), row...)
			if r.IntN(3) == 0 {
				s.tick(seconds(at))
			}
		}
		open := int64(end/10) * 10_000
		want := map[string]string{}
		for name, samples := range all {
			want[name] = told(newestOfEach(samples, 10_000, open))
		}
		s.want(want)
	}
}

// newestOfEach keeps the newest sample of each slot that begins before open.
func newestOfEach(in []sample, cadence, open int64) (out []sample) {
	slots := map[int64]sample{}
	for _, x := range in {
		if k := x.at / cadence; x.at < open && x.at >= slots[k].at {
			slots[k] = x
		}
	}
	for _, x := range slots {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	return out
}
