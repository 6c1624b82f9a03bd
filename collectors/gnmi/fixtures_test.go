package gnmi

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/protojson"
)

const fixtures = "../../../shared/fixtures/gnmi"

var update = flag.Bool("update", false, "write what recordings come out as")

// golden compares what each recording came out as with a file, a line each.
func golden(t *testing.T, file string, got map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(got)) {
		fmt.Fprintf(&b, "%s: %s\n", name, got[name])
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s line %d:\n%s\nwant\n%s", file, i+1, strings.Join(g[min(i, len(g)):min(i+1, len(g))], ""), strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
}

// outcomeOf summarises what a desk made of a recording: how many series have a
// value, those that are not zero, and what was dropped and why.
func (d *desk) outcomeOf() string {
	d.flush()
	var some []string
	n := 0
	for _, l := range strings.Split(d.tape.text(), "\n") {
		switch {
		case l == "" || strings.Contains(l, " contains "):
		case strings.HasSuffix(l, " 0"):
			n++
		default:
			n++
			some = append(some, l)
		}
	}
	_, dropped := d.drain()
	return fmt.Sprintf("%d series, not zero %q, dropped %v", n, some, dropped)
}

func recordings(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no recordings: ", fixtures, " is not here")
	}
	return files
}

// TestRecordedMessages: what other vendors' switches sent is read, or refused as
// unknown where their trees are none that a profile knows.
func TestRecordedMessages(t *testing.T) {
	got := map[string]string{}
	for _, f := range recordings(t, "telegraf/*/responses.json") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var raw []json.RawMessage
		if err := json.Unmarshal(b, &raw); err != nil {
			t.Fatal(f, err)
		}
		d := newDesk(t, "openconfig")
		for _, x := range raw {
			var r gpb.SubscribeResponse
			if err := protojson.Unmarshal(x, &r); err != nil {
				t.Fatal(f, err)
			}
			d.say(&r)
		}
		got[filepath.Base(filepath.Dir(f))] = d.outcomeOf()
	}
	golden(t, "testdata/recorded-messages.txt", got)
}

// TestRecordedRows: rows of SONiC as its server answers with them are read; the
// same rows as a dump of Redis has them, under other keys, are refused.
func TestRecordedRows(t *testing.T) {
	got := map[string]string{}
	for _, f := range recordings(t, "sonic/*") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		profile, path := answers(name)
		d := newDesk(t, profile)
		d.tell(0, path+" = json "+string(b))
		got[name+" at "+path] = d.outcomeOf()
	}
	golden(t, "testdata/recorded-rows.txt", got)
}

// answers returns the path that a recording answers, and the profile of its vendor.
func answers(name string) (profile, path string) {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".txt"), ".json")
	for _, x := range [...]struct{ prefix, profile, path string }{
		{"interfaces", "openconfig", "/openconfig-interfaces:interfaces"},
		{"get_interface", "openconfig", "/openconfig-interfaces:interfaces/interface[name=Ethernet0]"},
		{"COUNTERS_Ethernet_wildcard_Queues", "sonic", "/COUNTERS/Ethernet*/Queues"},
		{"COUNTERS_Ethernet_wildcard_Pfcwd", "sonic", "/COUNTERS/Ethernet*/Pfcwd"},
		{"COUNTERS_Ethernet_wildcard", "sonic", "/COUNTERS/Ethernet*"},
		{"COUNTERS_Ethernet68_Queues", "sonic", "/COUNTERS/Ethernet68/Queues"},
		{"COUNTERS_Ethernet68_Pfcwd", "sonic", "/COUNTERS/Ethernet68/Pfcwd"},
		{"COUNTERS_Ethernet68", "sonic", "/COUNTERS/Ethernet68"},
		{"COUNTERS_Ethernet1", "sonic", "/COUNTERS/Ethernet1"},
		{"PORT_COUNTERS", "sonic", "/COUNTERS/Ethernet*"},
		{"PORT_RATES", "sonic", "/RATES/Ethernet*"},
		{"RATES_oid_Ethernet89", "sonic", "/RATES/Ethernet89"},
		{"PERIODIC_WATERMARKS_Ethernet16_PriorityGroups", "sonic", "/PERIODIC_WATERMARKS/Ethernet16/PriorityGroups"},
		{"LLDP_ENTRY_TABLE", "sonic", "/LLDP_ENTRY_TABLE"},
		{"PORT_TABLE", "sonic", "/PORT_TABLE"},
		{"PORTS", "sonic", "/PORT_TABLE"},
		{"OPER_DOWN_PORT_TABLE", "sonic", "/PORT_TABLE"},
		{"STATE_PORT_TABLE", "sonic", "/PORT_TABLE"},
	} {
		if strings.HasPrefix(name, x.prefix) {
			return x.profile, x.path
		}
	}
	return "sonic", "/" + name
}
