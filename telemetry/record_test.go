package telemetry

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func testEvent() *Event {
	return &Event{Entity{GPU, "n1/3"}, 1e18, 1e18 + 5, EventXID, "79 GPU has fallen off the bus", Source{"logs", "n1", ""}}
}

func testEdge() *Edge {
	return &Edge{From: Entity{Job, "train"}, To: Entity{GPU, "n1/3"}, Relation: Runs, Start: 5, End: 9, Received: 6, Source: "slurm",
		Attrs: []Attr{{"dp", "3"}, {"rank", "17"}}}
}

// testRecords has one record of each kind.
func testRecords(t testing.TB) []Record {
	s := testSchema(3)
	b, err := new(Encoder).AppendFrame(nil, s, testFrame(rand.New(rand.NewPCG(9, 9)), s, 3, true))
	if err != nil {
		t.Fatal(err)
	}
	return []Record{
		{Kind: SchemaRecord, Schema: s},
		{Kind: FrameRecord, Frame: b},
		{Kind: EventRecord, Event: testEvent()},
		{Kind: EdgeRecord, Edge: testEdge()},
		{Kind: EdgeRecord, Edge: &Edge{From: Entity{Port, "a/1"}, To: Entity{Port, "b/1"}, Relation: Connects}},
		{Kind: ConfigRecord, Config: NewConfig(ConfigSignatures, 7, []byte("content"))},
		{Kind: TickRecord, Tick: Tick{1e18}},
		{Kind: TickRecord},
	}
}

func TestRecordsSurviveTheirBytes(t *testing.T) {
	for _, want := range testRecords(t) {
		b, err := AppendRecord([]byte("kept"), &want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRecord(b[4:])
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s changed:\n%+v\n%+v", want.Kind, got, want)
		}
	}
}

func TestRecordRefusals(t *testing.T) {
	event := func(f func(*Event)) Record { e := testEvent(); f(e); return Record{Kind: EventRecord, Event: e} }
	edge := func(f func(*Edge)) Record { e := testEdge(); f(e); return Record{Kind: EdgeRecord, Edge: e} }
	bad := NewConfig(ConfigSite, 1, []byte("a"))
	bad.Content = []byte("b")
	for want, r := range map[string]Record{
		"unknown record kind 0":          {},
		"unknown record kind 7":          {Kind: 7},
		"event record: want exactly":     {Kind: EventRecord, Event: testEvent(), Edge: testEdge()},
		"frame record: want exactly":     {Kind: FrameRecord},
		"schema record: want exactly":    {Kind: SchemaRecord},
		"make no series":                 {Kind: SchemaRecord, Schema: &Schema{Source: Source{"a", "", ""}}},
		"event of gpu:n1/3: no name":     event(func(e *Event) { e.Name = "" }),
		"unknown kind":                   event(func(e *Event) { e.Entity.Kind = "x" }),
		"not UTF-8":                      event(func(e *Event) { e.Text = "\xff" }),
		"at most 65536":                  event(func(e *Event) { e.Text = strings.Repeat("a", MaxEventText+1) }),
		"no collector":                   event(func(e *Event) { e.Source.Collector = "" }),
		`relation "likes"`:               edge(func(e *Edge) { e.Relation = "likes" }),
		"leads to itself":                edge(func(e *Edge) { e.To = e.From }),
		"before it begins":               edge(func(e *Edge) { e.Start = 10 }),
		"does not follow":                edge(func(e *Edge) { e.Attrs[1].Key = "dp" }),
		"attribute without a key":        edge(func(e *Edge) { e.Attrs[0].Key = "" }),
		"digest is not":                  {Kind: ConfigRecord, Config: bad},
		"config: no key":                 {Kind: ConfigRecord, Config: NewConfig("", 0, nil)},
		"65 attributes":                  edge(func(e *Edge) { e.Attrs = make([]Attr, 65) }),
		`"a\tb": control character '\t'`: edge(func(e *Edge) { e.Attrs[0].Value = "a\tb" }),
	} {
		b, err := AppendRecord([]byte{1}, &r)
		if err == nil || !strings.Contains(err.Error(), want) || len(b) != 1 {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestRecordDamage(t *testing.T) {
	for _, r := range testRecords(t) {
		b, err := AppendRecord(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			if _, err := ParseRecord(b[:n]); err == nil && !(r.Kind == FrameRecord && n > 1) {
				t.Errorf("%s cut at %d of %d: no error", r.Kind, n, len(b))
			}
		}
		for bit := range 8 * len(b) {
			bad := bytes.Clone(b)
			bad[bit/8] ^= 1 << (bit % 8)
			again(t, bad)
		}
	}
	for _, b := range []string{"", "\x00", "\x07", "\x03\xff\xff\xff\xff\x0f", "\x04\x04runs\x05gpu:a\x05gpu:b\x00\x00\x00\x00\x80\x80\x80\x80\x20"} {
		if _, err := ParseRecord([]byte(b)); err == nil {
			t.Errorf("%q: no error", b)
		}
	}
}

// again checks that whatever is read is written as the very same bytes.
func again(t *testing.T, b []byte) {
	t.Helper()
	r, err := ParseRecord(b)
	if err != nil {
		return
	}
	c, err := AppendRecord(nil, &r)
	if err != nil {
		t.Fatalf("a parsed %s record cannot be written: %v", r.Kind, err)
	}
	if !bytes.Equal(b, c) {
		t.Fatalf("a parsed %s record is written otherwise:\n%x\n%x", r.Kind, b, c)
	}
}
