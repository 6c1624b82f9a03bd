package bundle_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// folder writes a bundle's files and returns its folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const head = "time_ns,entity,metric,value\n"

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sample is one sample as it stands in the log.
type sample struct {
	at, received telemetry.Time
	series       telemetry.Series
	column       telemetry.Column
	word         uint64
	gap          bool
}

// samples decodes every frame of a bundle's log.
func samples(t testing.TB, b *bundle.Bundle) []sample {
	t.Helper()
	schemas := map[telemetry.Fingerprint]*telemetry.Schema{}
	var out []sample
	var dec telemetry.Decoder
	err := b.Records(func(r *telemetry.Record) error {
		if r.Kind == telemetry.SchemaRecord {
			schemas[r.Schema.Fingerprint()] = r.Schema
		}
		if r.Kind != telemetry.FrameRecord {
			return nil
		}
		h, err := r.Frame.Header()
		if err != nil {
			return err
		}
		sc := schemas[h.Fingerprint]
		var f telemetry.Frame
		if err := dec.Decode(r.Frame, sc, &f); err != nil {
			return err
		}
		for i := range sc.Len() {
			if f.States == nil || f.States[i] != telemetry.Absent {
				out = append(out, sample{f.Instants[0].Source, f.Instants[0].Received, sc.Series(i), sc.Columns[i/len(sc.Entities)],
					f.Words[i], f.States != nil && f.States[i] == telemetry.Gap})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func open(t testing.TB, files map[string]string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wrong is files that do not fit, laid over good ones, and what is said.
type wrong struct {
	files map[string]string
	want  string
}

func row(s string) map[string]string {
	return map[string]string{"samples.csv": head + "1,nic:a/b,m,1\n" + s + "\n"}
}

func topo(s string) map[string]string { return map[string]string{"topology.json": "{\n" + s + "\n}"} }

func refused(t *testing.T, cases []wrong) {
	t.Helper()
	for _, c := range cases {
		files := map[string]string{"topology.json": "{}", "samples.csv": head + "1,nic:a/b,m,1\n"}
		maps.Copy(files, c.files)
		_, err := bundle.Open(folder(t, files))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v:\n got %v\nwant %s", c.files, err, c.want)
		}
		var e *bundle.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%v: not a *bundle.Error", err)
		}
	}
}

// What is wrong is said with file, line and field.
func TestSampleErrors(t *testing.T) {
	refused(t, []wrong{
		{row("2,nic:a/b,m,12x"), `samples.csv:3: value: bad number: "12x" of nic:a/b m`},
		{row("2,nic:a/b,m,0x1f"), `samples.csv:3: value: bad number`},
		{row("2,nic:a/b,m,1_000"), `samples.csv:3: value: bad number`},
		{row("2,nic:a/b,m,+1"), `samples.csv:3: value: bad number`},
		{row("2,nic:a/b,m,."), `samples.csv:3: value: bad number`},
		{row("2,nic:a/b,m,-"), `samples.csv:3: value: bad number`},
		{row("2,nic:a/b,m,1e400"), `samples.csv:3: value: bad number`},
		{row("2,nic:a/b,m,+Inf"), `samples.csv:3: value: bad number`},
		{row("2,nic:a/b,m,Inf"), `samples.csv:3: value: not a finite number`},
		{row("x,nic:a/b,m,1"), `samples.csv:3: time_ns: bad time "x"`},
		{row(",nic:a/b,m,1"), `samples.csv:3: time_ns: bad time ""`},
		{row("-5,nic:a/b,m,1"), `samples.csv:3: time_ns: negative time -5`},
		{row("9000000000000000000,nic:a/b,m,1"), `samples.csv:3: time_ns: time 9000000000000000000 is beyond the year 2200`},
		{row("2,nick:a/b,m,1"), `samples.csv:3: entity: entity "nick:a/b": unknown kind "nick"`},
		{row("2,nic,m,1"), `samples.csv:3: entity: entity "nic": want kind:name`},
		{row("2,nic:a b,m,1"), `samples.csv:3: entity: entity "nic:a b": space`},
		{row("2,nic:a/b,,1"), `samples.csv:3: metric: column: metric has no name`},
		{row("2,nic:a/b,port_tx_bytes_total,-1"), `samples.csv:3: value: a counter is not negative: "-1" of nic:a/b port_tx_bytes_total`},
		{row("2,nic:a/b,foreign_total,-0.5"), `samples.csv:3: value: a counter is not negative`},
		{row("2,nic:a/b,foreign_total,18446744073709551616"), `samples.csv:3: value: a counter ends at 2^64-1`},
		{row("2,nic:a/b,m"), `samples.csv:3: 3 fields, the header has 4`},
		{row("2,nic:a/b,m,1,2"), `samples.csv:3: 5 fields, the header has 4`},
		{row(`2,"nic:a/b,m,1`), `samples.csv:3: a quote is not closed`},
		{row(`2,nic:"a/b",m,1`), `samples.csv:3: a quote inside a field`},
		{row(strings.Repeat("9", 70_000)), `samples.csv:3: line longer than 65536 bytes`},
		{map[string]string{"samples.csv": "time_ns,entity,value\n"}, `samples.csv:1: metric: column metric is missing`},
		{map[string]string{"samples.csv": "time_ns,entity,metric,value,value\n"}, `samples.csv:1: value: the column is there twice`},
		{map[string]string{"samples.csv": ""}, `samples.csv: empty: want the header time_ns,entity,metric,value`},
		{map[string]string{"samples.csv": head}, `samples.csv: no samples`},
		{map[string]string{"samples.csv.gz": "x"}, `samples.csv.gz is there too`},
		{map[string]string{"samples.csv": head + "1,nic:a/b,m,1\n3000000000000000,nic:a/b,m,1\n", "bundle.json": `{"grid_ns":1000000}`}, `samples.csv: time_ns: the rows span`},
	})
}

func TestTopologyErrors(t *testing.T) {
	refused(t, []wrong{
		{topo(`"entities":[{"id":"nic:a"},` + "\n" + `{"id":"nic:a"}]`), `topology.json:3: entities[1].id: nic:a is also in line 2`},
		{topo(`"entities":[` + "\n" + `{"id":"nik:a"}]`), `topology.json:3: entities[0].id: entity "nik:a": unknown kind`},
		{topo(`"entities":[{"id":"nic:a","attrs":{"x":[1]}}]`), `topology.json:2: entities[0].attrs.x: want a string`},
		{topo(`"edges":[` + "\n" + `{"from":"nic:a","to":"port:b","rel":"touches"}]`), `topology.json:3: edges[0].rel: relation "touches"`},
		{topo(`"edges":[{"from":"nic:a","to":"nic:a","rel":"connects"}]`), `topology.json:2: edges[0].to: nic:a is related to itself`},
		{topo(`"edges":[{"from":"job:a","to":"node:a","rel":"runs","start_ns":5,"end_ns":5}]`), `topology.json:2: edges[0].end_ns: 5 is not after start_ns 5`},
		{topo(`"edges":[{"from":"job:a","to":"node:a","rel":"runs","start_ns":"5"}]`), `topology.json:2: start_ns: string: want int64`},
		{topo(`"edges":[{"from":"nic:a","to":"port:b","rel":"connects"},` + "\n" + `{"from":"nic:a","to":"port:b","rel":"connects"}]`), `topology.json:3: edges: nic:a connects port:b is also in line 2`},
		{topo(`"edges":[{"from":"rack:a","to":"node:b","rel":"contains"},` + "\n" + `{"from":"node:b","to":"node:c","rel":"contains"},` + "\n" + `{"from":"node:c","to":"rack:a","rel":"contains"}]`),
			`topology.json:4: edges: containment runs in a loop: rack:a → node:b → node:c → rack:a`},
		{topo(`"edges":[` + "\n" + `{"from":]`), `topology.json:3: edges: invalid character ']'`},
		{topo(`"edges":[`), `topology.json:`},
		{map[string]string{"topology.json": "{}\n{}"}, `topology.json:2: something follows the end`},
		{map[string]string{"topology.json": "[]"}, `topology.json:1: [: want {`},
	})
}

func TestOtherErrors(t *testing.T) {
	refused(t, []wrong{
		{map[string]string{"bundle.json": `{"grid_ns":0}`}, `bundle.json:1: site config: grid_ns`},
		{map[string]string{"bundle.json": "{\n\"grid_ns\":\n1.5}"}, `bundle.json:3: grid_ns: number 1.5: want`},
		{map[string]string{"events.csv": "time_ns,entity,name\n"}, `events.csv:1: text: column text is missing`},
		{map[string]string{"events.csv": "time_ns,entity,name,text\n1,nic:a,xid,79\nx,nic:a,xid,79\n"}, `events.csv:3: time_ns: bad time "x"`},
		{map[string]string{"events.csv": "time_ns,entity,name,text\n1,nic:a,xid\n"}, `events.csv:2: wrong number of fields`},
		{map[string]string{"events.csv": "time_ns,entity,name,text\n1,foo:a,xid,\n"}, `events.csv:2: entity: entity "foo:a"`},
	})
	for name, files := range map[string]map[string]string{"topology.json": {"samples.csv": head}, "samples.csv": {"topology.json": "{}"}} {
		if _, err := bundle.Open(folder(t, files)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// Errors do not stop at the first, but end.
func TestManyErrors(t *testing.T) {
	_, err := bundle.Open(folder(t, map[string]string{"topology.json": "{}", "samples.csv": head + strings.Repeat("1,nic:a/b,m,x\n", 1000)}))
	if n := strings.Count(fmt.Sprint(err), "bad number"); n != 10 {
		t.Errorf("%d errors said: %v", n, err)
	}
}

// What two sources may well say differently is a warning.
func TestWarnings(t *testing.T) {
	b := open(t, map[string]string{
		"bundle.json": `{"colour":"red"}`,
		"topology.json": `{"entities":[{"id":"nic:a/b"},{"id":"port:s/1"},{"id":"port:s/2","attrs":{"tier":""}}],"edges":[
{"from":"nic:a/b","to":"port:s/1","rel":"connects"},
{"from":"nic:a/b","to":"port:s/2","rel":"connects"},
{"from":"node:a","to":"nic:a/b","rel":"contains"},
{"from":"node:c","to":"nic:a/b","rel":"contains"},
{"from":"job:j","to":"switch:s","rel":"runs"},
{"from":"feed:f","to":"pdu:p","rel":"feeds"},
{"from":"pdu:p","to":"feed:f","rel":"feeds"}]}`,
		"samples.csv": "time_ns,entity,metric,value,colour\n1,nic:a/b,m,1,red\n1,nic:a/b,m,2,\n1,nic:x/y,m,1,\n2,nic:a/b,n,9007199254740993,\n3,nic:a/b,n,0.5,\n",
	})
	said := strings.Join(b.Warnings, "\n")
	for _, want := range []string{
		`bundle.json:1: unknown key "colour", ignored`,
		`topology.json:3: nic:a/b is connected to port:s/2, but line 2 has port:s/1`,
		`topology.json:5: nic:a/b is contained in node:c, but line 4 has node:a`,
		`job:j runs switch:s: a switch cannot be there`,
		`feeds runs in a loop: feed:f → pdu:p → feed:f`,
		`entities[2].attrs.tier: "" makes no group`,
		`samples.csv:1: unknown column "colour", ignored`,
		`samples.csv:4: entity: 1 entity is not in topology.json: nic:x/y`,
		`samples.csv: nic:a/b m has two values at 1`,
		`topology.json: 6 entities are not listed, implied by edges or names: feed:f, job:j, node:a, …`,
		`whole numbers beyond 2^53 among fractions`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("not said: %s", want)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}

// TestAPartIsInWhatItsNameBeginsWith, where that is known and nothing else is stated.
func TestAPartIsInWhatItsNameBeginsWith(t *testing.T) {
	b := open(t, map[string]string{
		"topology.json": `{"entities":[{"id":"node:h0"},{"id":"fan:h0/1"},{"id":"switch:s"},{"id":"psu:s/1"},{"id":"psu:h0/1"},{"id":"shelf:r"},{"id":"fan:other/1"}],
"edges":[{"from":"shelf:r","to":"psu:h0/1","rel":"contains"}]}`,
		"samples.csv": head + "1,fan:h0/2,fan_speed_ratio,0.5\n",
	})
	var got []string
	for i := range b.Edges {
		got = append(got, b.Edges[i].From.String()+" "+b.Edges[i].To.String())
	}
	want := []string{"node:h0 fan:h0/1", "node:h0 fan:h0/2", "shelf:r psu:h0/1", "switch:s psu:s/1"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What an edge or a name implies needs no listing: of a hundred ports there is one
// warning, and another of what nothing implies.
func TestCheckListedSummarises(t *testing.T) {
	var edges, rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&edges, `,{"from":"nic:h%d/nic0","to":"port:s/%d","rel":"connects"}`, i, i)
		fmt.Fprintf(&rows, "1,gpu:h%d/0,m,1\n1,queue:s/%d/3,m,1\n1,node:stray%d,m,1\n", i, i, i)
	}
	b := open(t, map[string]string{
		"topology.json": `{"entities":[{"id":"switch:s"}],"edges":[{"from":"job:j","to":"node:h0","rel":"runs"}` + edges.String() + `]}`,
		"samples.csv":   head + rows.String(),
	})
	want := []string{
		"topology.json: 402 entities are not listed, implied by edges or names: gpu:h0/0, gpu:h1/0, gpu:h10/0, …",
		"samples.csv:4: entity: 100 entities are not in topology.json: node:stray0, node:stray1, node:stray10, …",
	}
	if !slices.Equal(b.Warnings, want) {
		t.Errorf("got %q, want %q", b.Warnings, want)
	}
}

// A clean bundle has nothing to warn about: a link from both ends, two ranks
// of a job on one node, a nic that moves.
func TestNoWarnings(t *testing.T) {
	b := open(t, map[string]string{
		"topology.json": `{"edges":[{"from":"nic:a/b","to":"port:s/1","rel":"connects","end_ns":10},{"from":"port:s/1","to":"nic:a/b","rel":"connects","end_ns":10},
{"from":"nic:a/b","to":"port:s/2","rel":"connects","start_ns":10,"end_ns":null},
{"from":"job:j","to":"node:a","rel":"runs","attrs":{"rank":0}},{"from":"job:j","to":"node:a","rel":"runs","attrs":{"rank":1}}]}`,
		"samples.csv": head + "1,nic:a/b,m,1\n1,nic:a/b,m,1\n",
	})
	if len(b.Warnings) != 0 || len(b.Edges) != 4 || b.Samples() != 1 {
		t.Errorf("%q, %d edges, %d samples", b.Warnings, len(b.Edges), b.Samples())
	}
}

// Every number comes out of the log as strconv reads it, or exactly as the
// unsigned integer it is.
func TestNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	groups := map[string][]string{
		"uint":    {"0", "7", "18446744073709551615", "18446744073709551614", "9007199254740993", "007"},
		"decimal": {"0.250417", "1.5", "-3", "0", "-0.000001", "9007199.254740992", "12", "1.", ".5", "-0.0"},
		"float":   {"1e-7", "0.30000000000000004", "5", "1.7976931348623157e308", "123456789.123456789", "-2.5"},
		"gaps":    {"", "NaN", "nan", "1", "2"},
	}
	for range 200 {
		groups["uint"] = append(groups["uint"], strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10))
		groups["decimal"] = append(groups["decimal"], strconv.FormatFloat(float64(rng.Int64N(2e9)-1e9)/1000, 'f', rng.IntN(6), 64))
		groups["float"] = append(groups["float"], strconv.FormatFloat(math.Float64frombits(rng.Uint64()&^(1<<62)), 'g', -1, 64))
	}
	types := map[string]telemetry.ValueType{"uint": telemetry.Uint, "decimal": telemetry.Decimal, "float": telemetry.Float, "gaps": telemetry.Uint}
	var csv strings.Builder
	csv.WriteString(head)
	for name, values := range groups {
		for i, v := range values {
			fmt.Fprintf(&csv, "%d,node:n,%s,%s\n", i+1, name, v)
		}
	}
	n := 0
	for _, s := range samples(t, open(t, map[string]string{"topology.json": "{}", "samples.csv": csv.String()})) {
		n++
		name := string(s.series.Metric)
		text := groups[name][s.at-1]
		if s.column.Type != types[name] {
			t.Fatalf("%s: type %v", name, s.column)
		}
		if text == "" || strings.EqualFold(text, "nan") {
			if !s.gap || s.word != 0 {
				t.Errorf("%q is not a gap", text)
			}
			continue
		}
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := strconv.ParseUint(text, 10, 64); name == "uint" && (err != nil || u != s.word) {
			t.Errorf("%s: word %d", text, s.word)
		}
		if got := s.column.Float(s.word); got != want || s.gap {
			t.Errorf("%s %q: %v, want %v", name, text, got, want)
		}
	}
	if n != len(groups["uint"])+len(groups["decimal"])+len(groups["float"])+len(groups["gaps"]) {
		t.Errorf("%d samples", n)
	}
}

// The order of rows, columns, keys and entities, compression, quotes and line
// ends change nothing about the log.
func TestOrderChangesNothing(t *testing.T) {
	var rows []string
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		for k := range 3 {
			rows = append(rows, fmt.Sprintf("%d,nic:h%d/nic0,port_tx_bytes_total,%d", i*1e9+k, k, i*1000), fmt.Sprintf("%d,port:s/p%d,port_queue_bytes,%d", i*1e9, k, rng.IntN(99)))
		}
	}
	rows = append(rows, "5,nic:h0/nic0,port_tx_bytes_total,1", "5,nic:h0/nic0,port_tx_bytes_total,2")
	topology := `{"entities":[{"id":"switch:s","attrs":{"tier":"leaf"}}],"edges":[{"from":"node:h0","to":"nic:h0/nic0","rel":"contains"},{"from":"job:j","to":"node:h0","rel":"runs"}]}`
	want := traceOf(t, map[string]string{"topology.json": topology, "samples.csv": head + strings.Join(rows, "\n") + "\n"})
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	var turned []string
	for _, r := range rows {
		f := strings.Split(r, ",")
		turned = append(turned, fmt.Sprintf(`"%s",%s,%s,"%s"`, f[3], f[2], f[0], f[1]))
	}
	for name, files := range map[string]map[string]string{
		"shuffled": {"samples.csv": head + strings.Join(rows, "\n")},
		"turned":   {"samples.csv": "\ufeffvalue,metric,time_ns,entity\r\n" + strings.Join(turned, "\r\n") + "\r\n\r\n"},
		"zipped":   {"samples.csv.gz": zipped(t, head+strings.Join(rows, "\n"))},
		"topology": {"samples.csv": head + strings.Join(rows, "\n"), "topology.json": `{"edges":[{"rel":"runs","from":"job:j","to":"node:h0"},{"to":"nic:h0/nic0","from":"node:h0","rel":"contains"}],"entities":[{"attrs":{"tier":"leaf"},"id":"switch:s"}]}`},
	} {
		if files["topology.json"] == "" {
			files["topology.json"] = topology
		}
		if got := traceOf(t, files); !bytes.Equal(got, want) {
			t.Errorf("%s: another trace, of %d bytes instead of %d", name, len(got), len(want))
		}
	}
}

func traceOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := open(t, files).WriteTrace(&out, "test"); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The log begins with config, edges and schemas; every sample stands before the
// tick that closes its grid; ticks come once per grid until the last is closed.
func TestOrderOfTheLog(t *testing.T) {
	b := open(t, map[string]string{
		"bundle.json":   `{"grid_ns":1000000000,"lateness_ns":2000000000,"class":"c","description":"d"}`,
		"topology.json": `{"entities":[{"id":"switch:s","attrs":{"tier":"leaf/a b"}}],"edges":[{"from":"node:a","to":"nic:a/b","rel":"contains"}]}`,
		"samples.csv":   head + "500000000,nic:a/b,m,1\n1000000000,nic:a/b,m,2\n4200000000,nic:a/b,m,3\n",
		"events.csv":    "time_ns,entity,name,text\n3000000000,job:j,job_started,\"a, \"\"b\"\"\"\n3000000000,job:j,job_started,\"a, \"\"b\"\"\"\n",
	})
	var log []string
	err := b.Records(func(r *telemetry.Record) error {
		switch r.Kind {
		case telemetry.ConfigRecord:
			c, err := telemetry.ParseSiteConfig(r.Config.Content)
			log = append(log, fmt.Sprint("config ", c.Grid, c.Lateness[telemetry.Prompt], err))
		case telemetry.EdgeRecord:
			log = append(log, fmt.Sprint(r.Edge.From, " ", r.Edge.Relation, " ", r.Edge.To))
		case telemetry.SchemaRecord:
			log = append(log, fmt.Sprint("schema ", r.Schema.Source, r.Schema.Cadence))
		case telemetry.FrameRecord:
			h, _ := r.Frame.Header()
			log = append(log, fmt.Sprintf("frame %d at %v", h.Sequence, h.First.Seconds()))
		case telemetry.EventRecord:
			log = append(log, "event "+r.Event.Text)
		case telemetry.TickRecord:
			log = append(log, fmt.Sprint("tick ", r.Tick.At.Seconds()))
		}
		return nil
	})
	want := []string{"config 1s 2s <nil>", "node:a contains nic:a/b", "switch:s member group:tier/leaf%2Fa%20b", "schema import|node:a|nic 3.2s",
		"frame 1 at 0.5", "frame 2 at 1", "tick 1", "tick 2", `event a, "b"`, "tick 3", "tick 4", "frame 3 at 4.2", "tick 5", "tick 6", "tick 7"}
	if err != nil || !slices.Equal(log, want) {
		t.Errorf("%v\n got %q\nwant %q", err, log, want)
	}
	if b.Class != "c" || b.Description != "d" {
		t.Errorf("%+v", b)
	}
}

// received_ns is carried, and does not order the log: samples of one instant
// that were received apart make frames of their own.
func TestReceived(t *testing.T) {
	b := open(t, map[string]string{"topology.json": "{}", "samples.csv": "time_ns,entity,metric,value,received_ns\n" +
		"1000,node:a,m,1,5000\n2000,node:a,m,2,3000\n3000,node:a,m,3,\n3000,node:a,n,4,4000\n"})
	var got []string
	for _, s := range samples(t, b) {
		got = append(got, fmt.Sprint(int64(s.at), " ", int64(s.received), " ", s.series.Metric))
	}
	if want := []string{"1000 5000 m", "2000 3000 m", "3000 0 m", "3000 4000 n"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Sources hold what belongs together, and their cadence is the usual one.
func TestSources(t *testing.T) {
	var csv strings.Builder
	csv.WriteString(head)
	for i := range 100 {
		at := 1_000_000_000 * int64(i+1)
		if i != 50 { // a lost scrape
			fmt.Fprintf(&csv, "%d,nic:h0/nic0,port_tx_bytes_total,%d\n%d,nic:h0/nic1,port_tx_bytes_total,%d\n", at, i, at, i)
			fmt.Fprintf(&csv, "%d,port:s/1,port_queue_bytes,%d\n%d,queue:s/1/3,port_queue_bytes,%d\n", at, i, at, i)
		}
		if i%10 == 0 {
			fmt.Fprintf(&csv, "%d,node:h0,node_power_watts,%d\n%d,nic:h0/nic0,optic_temperature_celsius,40\n", at, 500+i, at)
		}
		if i%7 == 0 {
			fmt.Fprintf(&csv, "%d,job:j,job_step_seconds,6.9\n%d,rank:j/0,rank_compute_seconds,1.5\n", at, at)
		}
	}
	b := open(t, map[string]string{"samples.csv": csv.String(), "topology.json": `{"edges":[{"from":"switch:s","to":"port:s/1","rel":"contains"}]}`})
	var got []string
	_ = b.Records(func(r *telemetry.Record) error {
		if r.Kind == telemetry.SchemaRecord {
			got = append(got, fmt.Sprint(r.Schema.Source, " ", r.Schema.Cadence, " ", r.Schema.Len()))
		}
		return nil
	})
	want := []string{"import|job:j|job.steps 0s 1", "import|job:j|rank.steps 0s 1", "import|node:h0|nic 1s 2", "import|node:h0|nic.cadence2 10s 1",
		"import|node:h0|node 10s 1", "import|switch:s|port 1s 1", "import|switch:s|queue 1s 1"}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if steps := b.Steps(); len(steps) != 15 || steps[1] != (bundle.Step{Job: telemetry.Entity{Kind: "job", Name: "j"}, End: 8e9, Seconds: 6.9}) {
		t.Errorf("steps %v", steps)
	}
}

// A source has at most MaxSeriesPerSource series, and nothing is lost over it.
func TestManySeries(t *testing.T) {
	var csv strings.Builder
	csv.WriteString(head)
	for i := range 3000 {
		for m := range 7 {
			fmt.Fprintf(&csv, "1,port:s/p%d,metric%d,%d\n", i, m, i*7+m)
		}
	}
	b := open(t, map[string]string{"topology.json": "{}", "samples.csv": csv.String()})
	seen := map[uint64]bool{}
	for _, s := range samples(t, b) {
		if want := fmt.Sprintf("port:s/p%d metric%d", s.word/7, s.word%7); s.series.String() != want || seen[s.word] {
			t.Fatalf("%d is %s, want %s", s.word, s.series, want)
		}
		seen[s.word] = true
	}
	if len(seen) != 21000 {
		t.Errorf("%d samples", len(seen))
	}
}

// Coarsening keeps every k-th sample of each series, and every step.
func TestCoarsen(t *testing.T) {
	var csv strings.Builder
	csv.WriteString(head)
	for i := range 100 {
		fmt.Fprintf(&csv, "%d,node:a,m,%d\n%d,job:j,job_step_seconds,1\n", 1e9*(i+1), i, 1e9*(i+1))
		if i%2 == 0 {
			fmt.Fprintf(&csv, "%d,node:b,m,%d\n", int64(1e9*(i+1)), i)
		}
	}
	dir := folder(t, map[string]string{"topology.json": "{}", "samples.csv": csv.String()})
	b, err := bundle.OpenWith(dir, bundle.Config{Coarsen: 10})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]uint64{}
	for _, s := range samples(t, b) {
		got[s.series.Entity.String()] = append(got[s.series.Entity.String()], s.word)
	}
	if want := []uint64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}; !slices.Equal(got["node:a"], want) {
		t.Errorf("node:a %v", got["node:a"])
	}
	if want := []uint64{0, 20, 40, 60, 80}; !slices.Equal(got["node:b"], want) || len(got["job:j"]) != 100 || len(b.Steps()) != 100 {
		t.Errorf("node:b %v, %d steps", got["node:b"], len(got["job:j"]))
	}
}

// The recorded runs import, and their trace gives the same log as the bundle.
func TestRecordedRuns(t *testing.T) {
	dirs, err := filepath.Glob("../../testdata/roce/*/truth.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded runs: %v", err)
	}
	for _, d := range dirs {
		b, err := bundle.Open(filepath.Dir(d))
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Warnings) != 0 || len(b.Steps()) < 20 {
			t.Errorf("%s: %d steps, %q", d, len(b.Steps()), b.Warnings)
		}
		var file bytes.Buffer
		if err := b.WriteTrace(&file, "test"); err != nil {
			t.Fatal(err)
		}
		r, err := trace.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		position := uint64(0)
		err = b.Records(func(want *telemetry.Record) error {
			position++
			at, got, err := r.Next()
			if err != nil {
				return err
			}
			w, werr := telemetry.AppendRecord(nil, want)
			g, gerr := telemetry.AppendRecord(nil, got)
			if err := errors.Join(werr, gerr); err != nil || at != position || !bytes.Equal(w, g) {
				return fmt.Errorf("record %d differs: %w", position, err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", d, err)
		}
		if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the last record: %v", d, err)
		}
	}
}
