package telemetry

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// The example of docs/format-frame.md: two ports, three metrics, two instants a
// second apart, one gap.
func documented() (*Schema, *Frame) {
	s := &Schema{Source: Source{"gnmi", "leaf3", "ports"}, Cadence: 1e9,
		Entities: []Entity{{Port, "leaf3/eth1"}, {Port, "leaf3/eth2"}},
		Columns:  []Column{{"port_rx_bytes_total", Uint, 0}, {"port_queue_bytes", Uint, 0}, {"port_pre_fec_ber", Float, 0}}}
	f := &Frame{Fingerprint: s.Fingerprint(), Incarnation: 1, Sequence: 300,
		Instants: []Instant{{1764000000e9, 1764000000e9 + 5e6}, {1764000001e9, 1764000001e9 + 7e6}},
		Words: []uint64{
			1 << 40, 500, 4096, 0, 0x3e70000000000000, 0,
			1<<40 + 1000000, 500, 2048, 0, 0x3e70000000000000, 0,
		},
		States: []State{Present, Present, Present, Present, Present, Gap, Present, Present, Present, Present, Present, Gap}}
	return s, f
}

// The bytes are those of the document, and stay so: they are stored.
func TestDocumentedBytes(t *testing.T) {
	b, err := os.ReadFile("../docs/format-frame.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := map[string]string{} // by the heading above the block
	for _, part := range strings.Split(string(b), "\n## ")[1:] {
		heading, rest, _ := strings.Cut(part, "\n")
		if _, block, ok := strings.Cut(rest, "```hex\n"); ok {
			block, _, _ = strings.Cut(block, "```")
			doc[strings.ToLower(heading)] = block
		}
	}
	s, f := documented()
	frame, err := new(Encoder).AppendFrame(nil, s, f)
	if err != nil {
		t.Fatal(err)
	}
	record, err := AppendRecord(nil, &Record{Kind: EventRecord, Event: testEvent()})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"schema": s.AppendBinary(nil), "frame": frame, "record": record} {
		if got := hexOf(doc[name]); got != hex.EncodeToString(want) {
			t.Errorf("docs/format-frame.md, %s:\n%s\nwant\n%s", name, got, hex.EncodeToString(want))
		}
	}
}

// hexOf returns the digits of a block whose lines are bytes, two spaces, text.
func hexOf(block string) string {
	var digits strings.Builder
	for line := range strings.Lines(block) {
		bytes, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		digits.WriteString(strings.ReplaceAll(bytes, " ", ""))
	}
	return digits.String()
}
