package ibdiag

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// small is a subnet with most of what a listing can have: a director's board,
// a name with a quote in it, an engine inside a switch, an adapter with two
// ports of which one is linked, one that was never named, a port named by its
// chassis, a rate that is not known, and a router.
const small = `#
# Topology file: generated on Sat Nov 21 12:15:33 2026
#
# Initiated from node 0c42a20300100100 port 0c42a20300100101

vendid=0x2c9
devid=0xd2f2
sysimgguid=0xc42a10300100000
switchguid=0xc42a10300100000(c42a10300100000)
Switch	65 "S-0c42a10300100000"		# "MF0;leaf00:MQM9701/U1" enhanced port 0 lid 2 lmc 0
[1]	"H-0c42a20300100100"[1](c42a20300100101) 		# "n0000 mlx5_0" lid 11 4xNDR
[2][ext 7]	"H-0c42a20300100200"[2](c42a20300100202) 		# "MT4129 ConnectX7   Mellanox Technologies" lid 12 4xNDR
[3]	"S-0c42a10300100900"[17][ext 3]		# "odd "name" lid 9" lid 3 8x ???
[65]	"H-0c42a10300100008"[1](c42a10300100008) 		# "Mellanox Technologies Aggregation Node" lid 13 4xNDR s=4 w=2 v=2 e=4

vendid=0x2c9
devid=0xcb20
sysimgguid=0xc42a10300100900
switchguid=0xc42a10300100900(c42a10300100900)
Switch	36 "S-0c42a10300100900"		# "odd "name" lid 9" base port 0 lid 3 lmc 0
[17]	"S-0c42a10300100000"[3][ext 9]		# "MF0;leaf00:MQM9701/U1" lid 2 4xEDR

vendid=0x2c9
devid=0x1021
sysimgguid=0xc42a20300100100
caguid=0xc42a20300100100
Ca	1 "H-0c42a20300100100"		# "n0000 mlx5_0"
[1](c42a20300100101) 	"S-0c42a10300100000"[1]		# lid 11 lmc 0 "MF0;leaf00:MQM9701/U1" lid 2 4xNDR

Ca	2 "H-0c42a20300100200"		# "MT4129 ConnectX7   Mellanox Technologies"
[2](c42a20300100202) 	"S-0c42a10300100000"[2]		# lid 12 lmc 0 "MF0;leaf00:MQM9701/U1" lid 2 4xNDR

Rt	1 "R-0c42a20300100300"		# "gate"
`

// write writes a topology in few words.
func write(t *Topology) string {
	var b strings.Builder
	for _, n := range t.Nodes {
		fmt.Fprintf(&b, "%d %x %x/%x ports %d lid %d %q\n", n.Type, n.GUID, n.Vendor, n.Device, n.Ports, n.LID, n.Description)
		for _, l := range n.Links {
			fmt.Fprintf(&b, "  %d (%x lid %d) -> %x %d %dx%s\n", l.Port, l.GUID, l.LID, l.Peer, l.PeerPort, l.Width, l.Speed)
		}
	}
	return b.String()
}

func TestAListingIsReadInFull(t *testing.T) {
	top, faults, err := ParseTopology([]byte(small))
	if err != nil || faults.Err() != nil {
		t.Fatal(err, faults.Err())
	}
	const want = `1 c42a10300100000 2c9/d2f2 ports 65 lid 2 "MF0;leaf00:MQM9701/U1"
  1 (0 lid 0) -> c42a20300100100 1 4xNDR
  2 (0 lid 0) -> c42a20300100200 2 4xNDR
  3 (0 lid 0) -> c42a10300100900 17 8x
  65 (0 lid 0) -> c42a10300100008 1 4xNDR
1 c42a10300100900 2c9/cb20 ports 36 lid 3 "odd \"name\" lid 9"
  17 (0 lid 0) -> c42a10300100000 3 4xEDR
2 c42a20300100100 2c9/1021 ports 1 lid 0 "n0000 mlx5_0"
  1 (c42a20300100101 lid 11) -> c42a10300100000 1 4xNDR
2 c42a20300100200 0/0 ports 2 lid 0 "MT4129 ConnectX7   Mellanox Technologies"
  2 (c42a20300100202 lid 12) -> c42a10300100000 2 4xNDR
3 c42a20300100300 0/0 ports 1 lid 0 "gate"
`
	if got := write(top); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if top.Origin != 0x0c42a20300100100 {
		t.Errorf("seen from %x", top.Origin)
	}
}

// A meaningless line is reported with its number, and the rest is kept.
func TestWhatMeansNothingIsAFault(t *testing.T) {
	head := "Switch\t8 \"S-01\"\t# \"a\" base port 0 lid 1 lmc 0\n"
	for text, want := range map[string]string{
		head + "[9]\t\"H-02\"[1]\n":                       `line 2: "[9]\t\"H-02\"[1]": want one of 8 ports`,
		head + "[x]\t\"H-02\"[1]\n":                       `line 2: "[x]\t\"H-02\"[1]": want one of 8 ports`,
		head + "[1]\t\"H-zz\"[1]\n":                       `line 2: "[1]\t\"H-zz\"[1]": want the other end's identity and port`,
		head + "[1]\t\"H-02\"[300]\n":                     `line 2: "[1]\t\"H-02\"[300]": want the other end's identity and port`,
		head + "[1]\t\"H-02\"[1]\n[1]\t\"H-03\"[1]\n":     `line 3: "[1]\t\"H-03\"[1]": port 1 twice`,
		head + "\n[1]\t\"H-02\"[1]\n":                     `line 3: "[1]\t\"H-02\"[1]": a link of no node`,
		head + "VM_hostname x\n":                          `line 2: "VM_hostname x": neither a node nor a link`,
		"devid=nothing\n" + head:                          `line 1: "devid=nothing": want a number`,
		head + "\nSwitch\t900 \"S-02\"\n[1]\t\"S-01\"[1]": `line 3: "Switch\t900 \"S-02\"": want a number of ports and an identity; line 4: "[1]\t\"S-01\"[1]": a link of no node`,
	} {
		top, faults, err := ParseTopology([]byte(text))
		if err != nil || len(top.Nodes) != 1 {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if faults.Err() == nil || faults.Err().Error() != want {
			t.Errorf("%q: %v\nwant %s", text, faults.Err(), want)
		}
	}
	if _, faults, _ := ParseTopology([]byte(head + strings.Repeat("?\n", 100))); faults.Count != 100 || len(faults.First) != maxFaults ||
		!strings.HasSuffix(faults.Err().Error(), "and 80 more") {
		t.Errorf("100 faults: %d, %d kept", faults.Count, len(faults.First))
	}
}

// Another report is refused as what it is.
func TestAnotherReportIsRefused(t *testing.T) {
	for text, want := range map[string]error{
		"":                                   ErrEmpty,
		" \n\n":                              ErrEmpty,
		"CA    1  1 0x01 4x EDR - SW\n":      ErrForm,
		"# Port counters: Lid 2 port 1\n":    ErrForm,
		"sminfo: sm lid 1\n":                 ErrForm,
		"some words\n":                       ErrForm,
		"#\n# Topology file: generated on\n": ErrForm,
	} {
		if _, _, err := ParseTopology([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	_, _, err := ParseTopology([]byte("CA    1  1 0x01 4x EDR - SW\n"))
	if want := "another form of report: a list of ports (ibnetdiscover -p), want a topology in full (ibnetdiscover)"; err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func FuzzParseTopology(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("Switch\t8 \"S-01\"\n[1][ext 2](ff)\t\"H-\"[1] # \"\" lid lid 4x"))
	f.Add([]byte("Ca 1 \"H-1\"#\"\n[1](\t\"S-1\"[1]#\" lid 99999 99xNDR"))
	f.Fuzz(func(t *testing.T, text []byte) {
		defer collectorstest.Bounded(t, len(text))()
		top, faults, err := ParseTopology(text)
		if (err == nil) != (top != nil) || faults == nil {
			t.Fatalf("%v with %v", top, err)
		}
		if top == nil {
			return
		}
		for _, n := range top.Nodes {
			if n.Ports < 0 || n.Ports > MaxPort {
				t.Errorf("%d ports", n.Ports)
			}
			seen := map[int]bool{}
			for _, l := range n.Links {
				if l.Port < 0 || l.Port > n.Ports || l.PeerPort > MaxPort || seen[l.Port] {
					t.Errorf("link %+v of a node with %d ports", l, n.Ports)
				}
				seen[l.Port] = true
			}
		}
	})
}
