package logs

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// seeds are the lines of testdata/lines.txt.
func seeds(f *testing.F, add func(string)) {
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		f.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		if row = strings.TrimSuffix(row, "\n"); row != "" && row[0] != '#' && row[0] != '=' {
			add(row)
		}
	}
	add("4,1,1,-;\\x00\\xff\\x4\n KEY=value")
	add("<13>1 - - - - - [\"]")
}

// FuzzLine: no line of any form makes decoding panic, or an event that the log
// would refuse.
func FuzzLine(f *testing.F) {
	seeds(f, func(s string) { f.Add(s) })
	c, err := New(sampleConfig(), dial.Guard{})
	if err != nil {
		f.Fatal(err)
	}
	names := newNames(&c.cfg, time.Now)
	now := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, form := range []string{formAuto, formKmsg, formSyslog} {
			l, ok := (scope{now, time.UTC}).decode(form, raw)
			if !ok {
				continue
			}
			if strings.ContainsAny(l.text, "\n\r\x00") || len(l.text) > 3*len(raw) {
				t.Errorf("%q: text %q", raw, l.text)
			}
			if p := c.library.find(&l); p.pattern != nil && p.Event != "" {
				h, ok := p.event(names)
				if ok && (h.event.Entity.Validate() != nil || len(h.event.Text) > maxText || h.event.Name == "") {
					t.Errorf("%q: %+v", raw, h.event)
				}
			}
		}
	})
}

// FuzzFrame: no stream of bytes makes a connection's reader panic, or hand on
// more than it may.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("5 hello<13>x\n"))
	f.Add([]byte("99999 x"))
	f.Add([]byte(strings.Repeat("y", 9000) + "\n1 z"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r receiver
		in := bufio.NewReaderSize(bytes.NewReader(b), maxLine+16)
		for n := 0; ; n++ {
			raw, err := r.frame(in)
			if err != nil {
				return
			}
			if len(raw) > maxLine+16 || n > len(b) {
				t.Fatalf("%d bytes, the %d. message of %d bytes", len(raw), n, len(b))
			}
		}
	})
}

// FuzzTail: however a file is written in pieces, every line that ends comes out
// once and whole, and the position is where the last one ended.
func FuzzTail(f *testing.F) {
	f.Add("a\nb\n", "c\n")
	f.Add("a", "b\n\nc")
	f.Fuzz(func(t *testing.T, a, b string) {
		path := temp(t, "log")
		write(t, path, "")
		tail := tail{path: path}
		if err := tail.begin(position{}, false, false); err != nil {
			t.Fatal(err)
		}
		defer tail.close()
		var got strings.Builder
		take := func(raw []byte, _ bool) bool { got.Write(raw); got.WriteByte('\n'); return true }
		now := time.Unix(1, 0)
		for _, piece := range []string{a, b} {
			write(t, path, piece)
			if _, err := tail.poll(now, take); err != nil {
				t.Fatal(err)
			}
		}
		whole := a + b
		want := whole[:strings.LastIndexByte(whole, '\n')+1]
		if len(whole) < maxLine && (got.String() != want || tail.offset != int64(len(want))) {
			t.Errorf("%q, to %d; want %q", got.String(), tail.offset, want)
		}
	})
}

// FuzzPatterns: no document makes the reader of patterns panic.
func FuzzPatterns(f *testing.F) {
	f.Add("version: 1\npatterns: [{name: a, has: b, match: '(?P<c>d)', entity: ['node:{c}'], event: e, text: '{c}'}]")
	f.Add("patterns: [{text: '{', entity: [x]}]")
	f.Fuzz(func(t *testing.T, text string) {
		var d Document
		if _, err := mapping.Decode([]byte(text), &d); err == nil {
			for _, p := range d.Rules {
				if p.Match.Regexp == nil || p.Has == "" {
					t.Errorf("%q", text)
				}
			}
		}
	})
}

// BenchmarkLines: lines of a log that no pattern matches, and an XID.
func BenchmarkLines(b *testing.B) {
	for name, raw := range map[string]string{
		"skipped": "6,4009,57631398407,-;IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
		"xid":     "4,100,5000000,-;NVRM: Xid (PCI:0000:1a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
	} {
		b.Run(name, func(b *testing.B) {
			c, err := New(sampleConfig(), dial.Guard{})
			if err != nil {
				b.Fatal(err)
			}
			r := c.newReader(b.Context(), newTape(b))
			s := &source{kernel: &kernelLog{}, file: File{Form: formKmsg}, tail: &tail{}, part: "kernel"}
			b.ReportAllocs()
			for b.Loop() {
				s.kernel.numbers = false
				r.raw(s, raw, true)
			}
		})
	}
}
