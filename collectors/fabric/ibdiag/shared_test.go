package ibdiag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings are other people's, beside a checkout of the project.
const recordings = "../../../../shared/fixtures/ibdiag"

// TestOthersRecordings: every recording is read with the known result, or refused
// for the right reason; a text that is no report at all is refused by every reader.
func TestOthersRecordings(t *testing.T) {
	if _, err := os.Stat(recordings); err != nil {
		t.Skip("no recordings beside this checkout")
	}
	want := map[string]string{
		"superbench/ib_traffic_topo_aware_ibnetdiscover.txt": "topology: 8 switches, 10 adapters, 35 ends of links, 0 faults",
		"topograph/ibnetdiscover/example.out":                "topology: 40 switches, 582 adapters, 2228 ends of links, 0 faults",
		"topograph/ibnetdiscover/example-bad.out":            "topology: 0 switches, 1 adapters, 0 ends of links, 0 faults", // it was cut off after its first node
		"treydock/ibnetdiscover/test.out":                    "refused: a list of ports (ibnetdiscover -p)",
		"treydock/ibnetdiscover/test2.out":                   "refused: a list of ports (ibnetdiscover -p)",
		"treydock/ibnetdiscover/test3.out":                   "refused: a list of ports (ibnetdiscover -p)",
		"treydock/perfquery/0x506b4b0300cc02a6.out":          "refused: empty",
		"treydock/perfquery/0x506b4b03005c2740.out":          "counters: 2052/1 2:25, 0 faults",
		"treydock/perfquery/0x7cfe9003003b4b96.out":          "counters: 133/1 2:25, 0 faults",
		"treydock/perfquery/0x7cfe9003003b4bde.out":          "counters: 134/1 2:25, 0 faults",
		"treydock/perfquery/0x7cfe9003009ce5b0.out":          "counters: 1719/1 2:25 1719/2 2:25, 0 faults",
		"superbench/ib_traffic_topo_aware_ibstat.txt":        "refused: not known", // host names and GUIDs, line by line
		"superbench/ib_traffic_topo_aware_hostfile":          "refused: not known",
		"superbench/ib_traffic_topo_aware_expected_config":   "refused: not known",
	}
	err := filepath.WalkDir(recordings, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(recordings, path)
		expect, ok := want[name]
		switch {
		case ok:
		case strings.HasPrefix(name, "treydock/ibswinfo/"):
			expect = "refused: the hardware of one switch (ibswinfo)"
		case strings.HasPrefix(name, "treydock/perfquery-rcv-error/"):
			expect = "details"
		default:
			t.Errorf("%s is not expected", name)
		}
		if got := read(text); got != expect && !(expect == "details" && details(got)) {
			t.Errorf("%s: %s\nwant %s", name, got, expect)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// details: one port's details of errors, eight of them.
func details(got string) bool {
	return strings.HasPrefix(got, "counters: ") && strings.HasSuffix(got, " 3:8, 0 faults")
}

// read tries every reader, and returns the result of the one that succeeded.
func read(text []byte) string {
	top, faults, err := ParseTopology(text)
	if err == nil {
		kinds, links := map[NodeType]int{}, 0
		for _, n := range top.Nodes {
			kinds[n.Type]++
			links += len(n.Links)
		}
		return fmt.Sprintf("topology: %d switches, %d adapters, %d ends of links, %d faults", kinds[Switch], kinds[Adapter], links, faults.Count)
	}
	var b strings.Builder
	faults, err2 := ParseCounters(text, func(c *Counters) { fmt.Fprintf(&b, " %d/%d %d:%d", c.LID, c.Port, c.Set, len(c.Fields)) })
	if err2 == nil {
		return fmt.Sprintf("counters:%s, %d faults", b.String(), faults.Count)
	}
	_, err3 := ParseManager(text)
	if errors.Is(err, ErrEmpty) && errors.Is(err2, ErrEmpty) && errors.Is(err3, ErrEmpty) {
		return "refused: empty"
	}
	if !errors.Is(err, ErrForm) || !errors.Is(err2, ErrForm) || !errors.Is(err3, ErrForm) {
		return fmt.Sprint(err, err2, err3)
	}
	what, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), ErrForm.Error()+": "), ", want")
	return "refused: " + what
}
