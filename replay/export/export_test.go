package export_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/export"
	"github.com/quintet-dc/quintet/telemetry"
)

// The tables as a reader finds them who knows only docs/format-parquet.md.
type (
	sample struct {
		Time     int64    `parquet:"time"`
		Stated   *int64   `parquet:"stated"`
		Received *int64   `parquet:"received"`
		Entity   string   `parquet:"entity"`
		Metric   string   `parquet:"metric"`
		Source   string   `parquet:"source"`
		Value    *float64 `parquet:"value"`
		Exact    *uint64  `parquet:"exact"`
	}
	event struct {
		Time   int64  `parquet:"time"`
		Entity string `parquet:"entity"`
		Name   string `parquet:"name"`
		Text   string `parquet:"text"`
	}
	edge struct {
		From     string            `parquet:"from"`
		Relation string            `parquet:"relation"`
		To       string            `parquet:"to"`
		End      *int64            `parquet:"end"`
		Attrs    map[string]string `parquet:"attrs"`
	}
)

// tables are an export in memory.
type tables struct {
	counts                 export.Counts
	samples, events, edges bytes.Buffer
}

func exportAll(t *testing.T, each func(add func(*telemetry.Record) error) error) *tables {
	t.Helper()
	var out tables
	x := export.New(export.Files{Samples: &out.samples, Events: &out.events, Edges: &out.edges}, "test", "1")
	if err := each(x.Add); err != nil {
		t.Fatal(err)
	}
	var err error
	if out.counts, err = x.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func read[T any](t *testing.T, b *bytes.Buffer) []T {
	t.Helper()
	rows, err := parquet.Read[T](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Every row of a bundle's CSV comes out, and nothing else.
func TestABundleComesOutAsItWentIn(t *testing.T) {
	for _, name := range []string{"slownic-2", "healthy-2"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("../../testdata/roce", name)
			rec, err := replay.Open(dir, replay.OpenConfig{})
			if err != nil {
				t.Fatal(err)
			}
			out := exportAll(t, func(add func(*telemetry.Record) error) error {
				return rec.Each(func(_ uint64, r *telemetry.Record) error { return add(r) })
			})
			var got []string
			for _, s := range read[sample](t, &out.samples) {
				got = append(got, fmt.Sprint(*s.Stated, s.Entity, s.Metric, *s.Value))
			}
			want := rows(t, filepath.Join(dir, "samples.csv.gz"))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows for the %d of the file, or others", len(got), len(want))
			}
			if n := len(read[edge](t, &out.edges)); n == 0 || n != out.counts.Edges {
				t.Errorf("%d edges, %d counted", n, out.counts.Edges)
			}
		})
	}
}

// rows reads samples.csv without any code of ours.
func rows(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all[1:] {
		v, err := strconv.ParseFloat(r[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(r[0], r[1], r[2], v))
	}
	return out
}

// nic is the one source of the tests below: a counter and a ratio.
var nic = &telemetry.Schema{
	Source:   telemetry.Source{Collector: "sysfs", Target: "n1", Part: "ports"},
	Entities: []telemetry.Entity{{Kind: telemetry.NIC, Name: "n1/mlx5_0"}},
	Columns: []telemetry.Column{
		{Metric: "port_tx_bytes_total", Type: telemetry.Uint},
		{Metric: "nic_pcie_stalled_ratio", Type: telemetry.Float},
	},
}

func frame(t *testing.T, seq uint64, words []uint64, states []telemetry.State) *telemetry.Record {
	t.Helper()
	f := telemetry.Frame{Fingerprint: nic.Fingerprint(), Incarnation: 7, Sequence: seq,
		Instants: []telemetry.Instant{{Source: telemetry.Time(seq * 1e9), Received: telemetry.Time(seq*1e9 + 5)}}, Words: words, States: states}
	b, err := new(telemetry.Encoder).AppendFrame(nil, nic, &f)
	if err != nil {
		t.Fatal(err)
	}
	return &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}
}

func all(records ...*telemetry.Record) func(func(*telemetry.Record) error) error {
	return func(add func(*telemetry.Record) error) error {
		for _, r := range records {
			if err := add(r); err != nil {
				return err
			}
		}
		return nil
	}
}

var schema = &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: nic}

// A counter survives to its last digit; a gap has no value, and what was never
// said has no row.
func TestWhatANumberBecomes(t *testing.T) {
	half := math.Float64bits(0.5)
	out := exportAll(t, all(schema,
		frame(t, 1, []uint64{1 << 53, half}, nil),
		frame(t, 2, []uint64{1<<53 + 1, half}, nil),
		frame(t, 3, []uint64{math.MaxUint64, 0}, []telemetry.State{telemetry.Present, telemetry.Gap}),
		frame(t, 4, []uint64{0, half}, []telemetry.State{telemetry.Absent, telemetry.Present}),
	))
	var got []string
	for _, s := range read[sample](t, &out.samples) {
		line := fmt.Sprintf("%d %d %s %s %s", s.Time, *s.Received, s.Source, s.Entity, s.Metric)
		if s.Value == nil {
			line += " gap"
		} else {
			line += fmt.Sprintf(" %.0f", *s.Value*2)
		}
		if s.Exact != nil {
			line += fmt.Sprintf(" exactly %d", *s.Exact)
		}
		got = append(got, line)
	}
	const bytes, stalled = " sysfs|n1|ports nic:n1/mlx5_0 port_tx_bytes_total ", " sysfs|n1|ports nic:n1/mlx5_0 nic_pcie_stalled_ratio "
	want := []string{
		"1000000000 1000000005" + bytes + "18014398509481984",
		"1000000000 1000000005" + stalled + "1",
		"2000000000 2000000005" + bytes + "18014398509481984 exactly 9007199254740993",
		"2000000000 2000000005" + stalled + "1",
		"3000000000 3000000005" + bytes + "36893488147419103232 exactly 18446744073709551615",
		"3000000000 3000000005" + stalled + "gap",
		"4000000000 4000000005" + stalled + "1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// A log repeats what its sender could not know to have arrived, and brings a
// frame before its schema. Neither changes a table.
func TestRepeatsAndOrderChangeNothing(t *testing.T) {
	half := math.Float64bits(0.5)
	a, b, c := frame(t, 1, []uint64{1, half}, nil), frame(t, 2, []uint64{2, half}, nil), frame(t, 3, []uint64{3, half}, nil)
	xid := &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
		Entity: telemetry.Entity{Kind: telemetry.GPU, Name: "n1/0"}, At: 5, Name: "xid", Text: "79"}}
	link := telemetry.Edge{From: nic.Entities[0], To: telemetry.Entity{Kind: telemetry.Port, Name: "leaf0/1"}, Relation: telemetry.Connects, Source: "lldp"}
	renewed := link
	renewed.Received = 9
	ended := link
	ended.End = 11
	edgeOf := func(e telemetry.Edge) *telemetry.Record {
		return &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}
	}

	once := exportAll(t, all(schema, edgeOf(link), a, xid, b, c, edgeOf(ended)))
	again := exportAll(t, all(edgeOf(link), a, b, schema, xid, a, edgeOf(renewed), c, b, xid, schema, edgeOf(ended)))
	if again.counts.Repeated != 3 {
		t.Errorf("%d repeats counted, want two frames and an event", again.counts.Repeated)
	}
	for what, same := range map[string]bool{
		"samples": reflect.DeepEqual(read[sample](t, &once.samples), read[sample](t, &again.samples)),
		"events":  reflect.DeepEqual(read[event](t, &once.events), read[event](t, &again.events)),
		"edges":   reflect.DeepEqual(read[edge](t, &once.edges), read[edge](t, &again.edges)),
	} {
		if !same {
			t.Errorf("the table of %s differs", what)
		}
	}
	if got := read[edge](t, &once.edges); len(got) != 2 || got[0].End != nil || got[1].End == nil {
		t.Errorf("edges: %+v: want one that holds, then its end", got)
	}
}

// A frame whose schema never comes is counted.
func TestAFrameOfAnUnknownSchemaIsCounted(t *testing.T) {
	out := exportAll(t, all(frame(t, 1, []uint64{1, 0}, nil)))
	if out.counts.Unread != 1 || out.counts.Samples != 0 {
		t.Errorf("counts: %+v", out.counts)
	}
}
