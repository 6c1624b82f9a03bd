package collectors_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestPrint(t *testing.T) {
	s := twoNICs()
	s.Columns = append(s.Columns, telemetry.Column{Metric: `odd{a="b\"}`, Type: telemetry.Decimal})
	f, err := collectors.NewFeed(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := collectors.NewPrinter()
	p.Emit(f.Schema())
	minus := int64(-1_500_000)
	for _, words := range [][]uint64{make([]uint64, 8), {1<<64 - 1, 5, 250417, uint64(minus), math.Float64bits(1e-9), 0, uint64(1), 0}} {
		r, err := f.Frame(telemetry.Instant{Source: 1}, words, []telemetry.State{2, 2, 2, 2, 2, 1, 2, 0})
		if err != nil {
			t.Fatal(err)
		}
		p.Emit(r)
	}
	e := &telemetry.Edge{From: telemetry.Entity{Kind: telemetry.Node, Name: "h1"}, To: s.Entities[0], Relation: telemetry.Contains, Attrs: []telemetry.Attr{{Key: "pci", Value: "0000:1a:00.0"}}}
	p.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: e})
	p.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: s.Entities[0], Name: telemetry.EventLinkDown, Text: "ACTIVE -> DOWN"}})
	p.Swept(collectors.Sweep{Dropped: map[collectors.Reason]int{collectors.Denied: 2}})
	p.Swept(collectors.Sweep{Dropped: map[collectors.Reason]int{collectors.Denied: 1, collectors.Malformed: 1}})
	var out, notes bytes.Buffer
	if err := errors.Join(p.Print(&out), p.PrintNotes(&notes)); err != nil {
		t.Fatal(err)
	}
	const want = `{"odd{a=\"b\\\"}",kind="nic",name="h1/a"} 1
port_pfc_rx_pause_seconds_total{kind="nic",name="h1/a"} 0.250417
port_pfc_rx_pause_seconds_total{kind="nic",name="h1/b"} -1.5
port_pre_fec_ber{kind="nic",name="h1/a"} 1e-09
port_pre_fec_ber{kind="nic",name="h1/b"} NaN
port_tx_bytes_total{kind="nic",name="h1/a"} 18446744073709551615
port_tx_bytes_total{kind="nic",name="h1/b"} 5
# EOF
`
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", out.String(), want)
	}
	const wantNotes = `edge node:h1 contains nic:h1/a pci="0000:1a:00.0"
event nic:h1/a link_down ACTIVE -> DOWN
dropped denied 3
dropped malformed 1
`
	if notes.String() != wantNotes {
		t.Errorf("notes\n%s, want\n%s", notes.String(), wantNotes)
	}
}

func TestPrintSaysWhatItCouldNotRead(t *testing.T) {
	f, err := collectors.NewFeed(twoNICs(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Frame(telemetry.Instant{Source: 1}, make([]uint64, 6), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := collectors.NewPrinter()
	p.Emit(r)
	p.Emit(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: []byte("no frame")})
	p.Swept(collectors.Sweep{Err: errors.New("nobody there")})
	err = p.Print(&bytes.Buffer{})
	for _, want := range []string{"not stated before", "frame header", "nobody there"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func FuzzPrintedNames(f *testing.F) {
	f.Add("port_up", "h1/mlx5_0", uint64(1), uint8(3))
	f.Add("a\nb", `"\`, uint64(1<<64-1), uint8(18))
	f.Fuzz(func(t *testing.T, metric, name string, word uint64, exp uint8) {
		s := &telemetry.Schema{Source: telemetry.Source{Collector: "t"}, Entities: []telemetry.Entity{{Kind: telemetry.NIC, Name: name}},
			Columns: []telemetry.Column{{Metric: telemetry.MetricName(metric), Type: telemetry.Decimal, Exp: exp}}}
		feed, err := collectors.NewFeed(s, 1)
		if err != nil {
			return
		}
		r, err := feed.Frame(telemetry.Instant{Source: 1}, []uint64{word}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := collectors.NewPrinter()
		p.Emit(feed.Schema())
		p.Emit(r)
		var out bytes.Buffer
		if err := p.Print(&out); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != 2 || !strings.HasSuffix(out.String(), "# EOF\n") {
			t.Errorf("%d lines: %q", n, out.String())
		}
	})
}

func TestPartsOfNames(t *testing.T) {
	for in, want := range map[string]string{"mlx5_0": "mlx5_0", "Ethernet1/1": "Ethernet1%2F1", "a b\tc\x00": "a_b_c_", "": "_", "ü\xff": "ü_"} {
		if got := collectors.Part(in); got != want {
			t.Errorf("Part(%q) = %q, want %q", in, got, want)
		}
	}
	if e := collectors.Entity("h 1", "sysfs/2"); e.Validate() != nil || e.String() != "collector:h_1/sysfs%2F2" {
		t.Errorf("%s: %v", e, e.Validate())
	}
}

func TestReasonsAreTheCatalogues(t *testing.T) {
	c := telemetry.DefaultCatalogue()
	for i, r := range collectors.Reasons() {
		if _, ok := c.Lookup(r.Metric()); !ok {
			t.Errorf("%s is not declared", r.Metric())
		}
		if i > 0 && collectors.Reasons()[i-1] >= r {
			t.Errorf("%s is out of order", r)
		}
	}
}
