package ibdiag

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

const extended = `# Port extended counters: Lid 17 port 1 (CapMask: 0x5300 CapMask2: 0x0000002)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................36298026860928
PortRcvData:.....................18446744073709551615
PortXmitWait:....................22730501
# Port counters: Lid 17 port 2 (CapMask: 0x5300)
PortSelect:......................2
SymbolErrorCounter:..............65535
# PortRcvErrorDetails counters: Lid 17 port 2
PortLocalPhysicalErrors:.........3
`

// tell writes the parsed counters as text.
func tell(text string) (string, *Faults, error) {
	var b strings.Builder
	faults, err := ParseCounters([]byte(text), func(c *Counters) {
		fmt.Fprintf(&b, "%d lid %d port %d:", c.Set, c.LID, c.Port)
		for _, f := range c.Fields {
			fmt.Fprintf(&b, " %s=%d", f.Name, f.Value)
		}
		b.WriteByte('\n')
	})
	return b.String(), faults, err
}

func TestCountersAreReadBlockByBlock(t *testing.T) {
	got, faults, err := tell(extended)
	if err != nil || faults.Err() != nil {
		t.Fatal(err, faults.Err())
	}
	const want = `2 lid 17 port 1: PortSelect=1 CounterSelect=0 PortXmitData=36298026860928 PortRcvData=18446744073709551615 PortXmitWait=22730501
1 lid 17 port 2: PortSelect=2 SymbolErrorCounter=65535
3 lid 17 port 2: PortLocalPhysicalErrors=3
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestACounterThatIsNoNumberIsAFault(t *testing.T) {
	head := "# Port counters: Lid 2 port 1 (CapMask: 0x1300)\n"
	for text, want := range map[string]string{
		head + "PortXmitData:....rubbish\n":              `line 2: "PortXmitData:....rubbish": want a name and a number`,
		head + "PortXmitData:....18446744073709551616\n": `line 2: "PortXmitData:....18446744073709551616": want a name and a number`,
		head + "PortXmitData:....-1\n":                   `line 2: "PortXmitData:....-1": want a name and a number`,
		head + "PortXmitData:....\n":                     `line 2: "PortXmitData:....": want a name and a number`,
		head + "nothing\n":                               `line 2: "nothing": want a name and a number`,
		head + "A:.0xzz\n":                               `line 2: "A:.0xzz": want a name and a number`,
		head + "# Port counters: Lid x port 1\nA:.1\n":   `line 2: "# Port counters: Lid x port 1": want counters of a lid and a port; line 3: "A:.1": a counter of no port`,
		head + strings.Repeat("A:.1\n", maxFields+1):     `line 258: "A:.1": more than 256 counters of a port`,
	} {
		_, faults, err := tell(text)
		if err != nil || faults.Err() == nil || faults.Err().Error() != want {
			t.Errorf("%.80q: %v, %v\nwant %s", text, err, faults.Err(), want)
		}
	}
	for text, want := range map[string]error{"": ErrEmpty, "A:.1\n": ErrForm, "sminfo: sm lid 1": ErrForm} {
		if _, _, err := tell(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func FuzzParseCounters(f *testing.F) {
	f.Add([]byte(extended))
	f.Add([]byte("# Port counters: Lid 65535 port 255 (\n:..1\nA:0x"))
	f.Add([]byte("#\n#:\n# a: Lid 0x2 port 0x1\nA:.................99999999999999999999"))
	f.Fuzz(func(t *testing.T, text []byte) {
		defer collectorstest.Bounded(t, len(text))()
		blocks := 0
		faults, err := ParseCounters(text, func(c *Counters) {
			blocks++
			if len(c.Fields) > maxFields || c.Port < 0 || c.Port > 255 || c.Set == 0 {
				t.Errorf("%+v", c)
			}
			for _, f := range c.Fields {
				if len(f.Name) == 0 {
					t.Error("a counter without a name")
				}
			}
		})
		if faults == nil || (err == nil) != (blocks > 0) {
			t.Errorf("%d blocks, %v", blocks, err)
		}
	})
}

func TestTheManagersLine(t *testing.T) {
	m, err := ParseManager([]byte("sminfo: sm lid 1 sm guid 0xc42a10300200001, activity count 1496 priority 10 state 3 SMINFO_MASTER\n"))
	if want := (Manager{LID: 1, GUID: 0xc42a10300200001, Activity: 1496, Priority: 10, State: Master}); err != nil || m != want {
		t.Errorf("%+v, %v", m, err)
	}
	if m.State.String() != "master" || ManagerState(9).String() != "unknown" {
		t.Error("names of states")
	}
	for text, want := range map[string]string{
		"":                               ErrEmpty.Error(),
		"sminfo: iberror: failed: query": "another form of report: missing: the subnet manager's state (sminfo)",
		"sminfo: sm lid 70000 sm guid 0x1, activity count 1 priority 1 state 3": `sminfo: lid: "70000", want a number of 16 bits`,
		"sminfo: sm lid 7 sm guid 0x1, activity count 1 priority 16 state 3":    `sminfo: priority: "16", want a number of 4 bits`,
		"sminfo: sm lid 7 sm guid 0x1, activity count 1 priority 1":             "sminfo: no state",
	} {
		if _, err := ParseManager([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParseManager(f *testing.F) {
	f.Add([]byte("sminfo: sm lid 1 sm guid 0x1, activity count 1 priority 1 state 3 SMINFO_MASTER"))
	f.Add([]byte("sminfo: sm "))
	f.Fuzz(func(t *testing.T, text []byte) {
		defer collectorstest.Bounded(t, len(text))()
		if m, err := ParseManager(text); err != nil && m != (Manager{}) || m.Priority > 15 || m.State > Master {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestTimeoutsAreCountedOnce(t *testing.T) {
	const complaints = `src/query_smp.c:245; umad (DR path slid 0; dlid 0; 0,1,31 Attr 0x11:0) bad status 110; Connection timed out
ibwarn: [1] _do_madrpc: recv failed: Connection timed out
ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 1)
perfquery: iberror: failed: perfextquery
`
	if n := Timeouts([]byte(complaints)); n != 2 {
		t.Errorf("%d timeouts, want 2", n)
	}
	if n := Timeouts(nil); n != 0 {
		t.Errorf("%d of nothing", n)
	}
}

func BenchmarkParseCounters(b *testing.B) {
	var text strings.Builder
	for port := range 64 {
		fmt.Fprintf(&text, "# Port extended counters: Lid 17 port %d (CapMask: 0x5300 CapMask2: 0x0000002)\n", port+1)
		for i := range 24 {
			fmt.Fprintf(&text, "PortCounter%02d:...................%d\n", i, 36298026860928+i)
		}
	}
	page := []byte(text.String())
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := ParseCounters(page, func(*Counters) {}); err != nil {
			b.Fatal(err)
		}
	}
}
