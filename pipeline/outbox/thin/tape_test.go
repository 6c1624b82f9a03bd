package thin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(1e9)

// reel is a tape in memory.
type reel []Entry

func (r reel) Len() int                   { return len(r) }
func (r reel) Entry(i int) (Entry, error) { return r[i], nil }

func (r reel) bytes() (n int) {
	for _, e := range r {
		n += len(e.Record)
	}
	return n
}

// run is one pass over a reel.
var catalogue = telemetry.DefaultCatalogue()

func run(t testing.TB, r reel, p Pass) (reel, Result) {
	t.Helper()
	if p.Catalogue == nil {
		p.Catalogue = catalogue
	}
	if p.Largest == 0 {
		p.Largest = 1 << 20
	}
	var out reel
	gone, err := Run(r, p, func(e Entry) error {
		out = append(out, Entry{Record: append([]byte(nil), e.Record...), Thinned: e.Thinned})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, gone
}

func encode(t testing.TB, r *telemetry.Record) Entry {
	t.Helper()
	b, err := telemetry.AppendRecord(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return Entry{Record: b}
}

func event(t testing.TB, text string, size int) Entry {
	return encode(t, &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
		Entity: telemetry.Entity{Kind: telemetry.Node, Name: "h1"}, At: 1, Name: "xid", Text: text + strings.Repeat(".", size),
		Source: telemetry.Source{Collector: "logs", Target: "h1"},
	}})
}

// source states frames of one schema.
type source struct {
	t       testing.TB
	schema  *telemetry.Schema
	encoder telemetry.Encoder
	frame   telemetry.Frame
}

// columns are one of every kind.
func columns() []telemetry.Column {
	return []telemetry.Column{
		{Metric: "port_rx_bytes_total", Type: telemetry.Uint},
		{Metric: "port_queue_bytes", Type: telemetry.Uint},
		{Metric: "port_up", Type: telemetry.Uint},
		{Metric: "inlet_celsius", Type: telemetry.Decimal, Exp: 2},
		{Metric: "port_pre_fec_ber", Type: telemetry.Float},
		{Metric: "of_nobody_total", Type: telemetry.Decimal, Exp: 3},
		{Metric: "of_nobody_seconds_total", Type: telemetry.Float},
	}
}

func newSource(t testing.TB, name string, entities int, cs []telemetry.Column) *source {
	s := &source{t: t, schema: &telemetry.Schema{Source: telemetry.Source{Collector: "sysfs", Target: name}, Cadence: second, Columns: cs}}
	for i := range entities {
		s.schema.Entities = append(s.schema.Entities, telemetry.Entity{Kind: telemetry.Port, Name: fmt.Sprintf("%s/eth%d", name, i)})
	}
	s.frame.Incarnation = 1
	return s
}

func (s *source) stated() Entry {
	return encode(s.t, &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s.schema})
}

// at encodes one instant.
func (s *source) at(t telemetry.Time, words []uint64, states []telemetry.State) Entry {
	s.t.Helper()
	s.frame.Sequence++
	s.frame.Instants, s.frame.Words, s.frame.States = []telemetry.Instant{{Source: t, Received: t + 5e6}}, words, states
	b, err := s.encoder.AppendFrame(nil, s.schema, &s.frame)
	if err != nil {
		s.t.Fatal(err)
	}
	return encode(s.t, &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
}

// sample is a mark at a time: a word, or a gap.
type sample struct {
	at   telemetry.Time
	word uint64
	gap  bool
}

// series decodes every frame of a schema in a reel and returns the samples of each
// series, unchanged.
func series(t testing.TB, r reel, s *telemetry.Schema) [][]sample {
	t.Helper()
	out := make([][]sample, s.Len())
	var dec telemetry.Decoder
	var f telemetry.Frame
	for _, e := range r {
		if KindOf(e.Record) != telemetry.FrameRecord || FramePrint(e.Record) != s.Fingerprint() {
			continue
		}
		if err := dec.Decode(e.Record[1:], s, &f); err != nil {
			t.Fatal(err)
		}
		for i, w := range f.Words {
			state := telemetry.Present
			if f.States != nil {
				state = f.States[i]
			}
			if state != telemetry.Absent {
				n := i % s.Len()
				out[n] = append(out[n], sample{f.Time(i / s.Len()), w, state == telemetry.Gap})
			}
		}
	}
	return out
}

// noise is a reel of a source's random instants, one a second.
func noise(s *source, seed uint64, n int) reel {
	r := rand.New(rand.NewPCG(seed, 3))
	words := make([]uint64, s.schema.Len())
	out := reel{s.stated()}
	for k := range n {
		states := make([]telemetry.State, len(words))
		now := make([]uint64, len(words))
		for i := range words {
			next(r, &words[i], s.schema.Columns[i/len(s.schema.Entities)])
			switch r.IntN(20) {
			case 0:
				states[i] = telemetry.Gap
			case 1:
			default:
				states[i], now[i] = telemetry.Present, words[i]
			}
		}
		out = append(out, s.at(1_000_000*telemetry.Time(second)+telemetry.Time(k)*telemetry.Time(second), now, states))
	}
	return out
}

// next moves a word on as its column may.
func next(r *rand.Rand, w *uint64, c telemetry.Column) {
	total := strings.HasSuffix(string(c.Metric), "_total")
	switch {
	case total && r.IntN(300) == 0:
		*w = 0
	case total && c.Type == telemetry.Float:
		*w = math.Float64bits(math.Float64frombits(*w) + r.Float64())
	case total:
		*w += uint64(r.IntN(5000))
	case c.Type == telemetry.Float:
		*w = math.Float64bits(r.NormFloat64())
	case c.Metric == "port_up":
		*w = uint64(r.IntN(10)) / 9
	case c.Type == telemetry.Decimal:
		*w = uint64(int64(r.IntN(2000)) - 1000)
	default:
		*w = uint64(r.IntN(1000))
	}
}
