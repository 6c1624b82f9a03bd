package fabric

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/ibsim"
)

// bench is a subnet in memory that answers as the programs would.
type bench struct {
	mu       sync.Mutex
	net      *ibsim.Net
	pulled   map[int]bool // cables
	off      map[int]bool // nodes
	cut      bool         // nothing answers
	lost     int          // datagrams that each program complains of
	rubbish  bool         // among the counters
	basic    bool         // the extended counters are of data alone
	counters map[string]uint64
	master   string
	asked    []string // what was run
	sent     []spent
	clock    func() time.Time
	found    map[int]bool // nodes, while foundFor is so
	foundFor string
}

// spent is what a program sent, and when.
type spent struct {
	at        time.Time
	datagrams int
}

func newBench(n *ibsim.Net) *bench {
	for i := range n.Nodes {
		n.Nodes[i].LID = uint16(i + 1)
	}
	return &bench{net: n, pulled: map[int]bool{}, off: map[int]bool{}, counters: map[string]uint64{}, master: "0xc42a20300100301", clock: time.Now}
}

// do changes the subnet.
func (b *bench) do(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// run implements runner.
func (b *bench) run(ctx context.Context, r request) answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, strings.Join(append([]string{r.program}, r.args...), " "))
	if n := len(b.asked) - 1000; n > 0 {
		b.asked = slices.Delete(b.asked, 0, n)
	}
	if b.cut {
		return answer{err: errors.New("exit status 1"), complaints: []byte(r.program + ": iberror: failed\n")}
	}
	a := answer{took: time.Millisecond, complaints: []byte(strings.Repeat("ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 1)\n", b.lost))}
	switch r.program {
	case "ibnetdiscover":
		a.out = b.listing()
	case "sminfo":
		if b.master == "" {
			return answer{err: errors.New("exit status 1"), complaints: []byte("ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 1)\nsminfo: iberror: failed: query\n")}
		}
		b.sent = append(b.sent, spent{b.clock(), 1})
		a.out = fmt.Appendf(nil, "sminfo: sm lid 1 sm guid %s, activity count 1496 priority 10 state 3 SMINFO_MASTER\n", b.master)
	case "perfquery":
		a.out = b.page(r.args)
	}
	return a
}

// listing is what ibnetdiscover prints of what can be reached from node 0.
func (b *bench) listing() []byte {
	n := &ibsim.Net{}
	number := map[int]int{}
	for i, x := range b.net.Nodes {
		if b.reached()[i] {
			number[i] = len(n.Nodes)
			n.Nodes = append(n.Nodes, x)
		}
	}
	for i, c := range b.net.Cables {
		if b.linked(i) && b.reached()[c.A.Node] {
			c.A.Node, c.B.Node = number[c.A.Node], number[c.B.Node]
			n.Cables = append(n.Cables, c)
		}
	}
	var out bytes.Buffer
	_ = n.Write(&out) // to memory
	return out.Bytes()
}

func (b *bench) linked(i int) bool {
	c := b.net.Cables[i]
	return !b.pulled[i] && !b.off[c.A.Node] && !b.off[c.B.Node]
}

// reached finds the nodes that links lead to.
func (b *bench) reached() map[int]bool {
	if b.found != nil && b.foundFor == fmt.Sprint(b.pulled, b.off, len(b.net.Nodes)) {
		return b.found
	}
	b.found, b.foundFor = map[int]bool{0: true}, fmt.Sprint(b.pulled, b.off, len(b.net.Nodes))
	for more := true; more; {
		more = false
		for i, c := range b.net.Cables {
			if b.linked(i) && b.found[c.A.Node] != b.found[c.B.Node] {
				b.found[c.A.Node], b.found[c.B.Node], more = true, true, true
			}
		}
	}
	return b.found
}

// fieldsOfData and the others are the order in which perfquery prints.
var (
	fieldsOfData  = []string{"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"}
	fieldsOfTrend = []string{"SymbolErrorCounter", "LinkDownedCounter", "PortXmitDiscards", "VL15Dropped", "PortXmitWait"}
)

// page is what perfquery prints of some ports.
func (b *bench) page(args []string) []byte {
	wide := slices.Contains(args, "-x")
	lid, _ := strconv.Atoi(args[len(args)-2])
	ports := numbers(args[len(args)-1])
	b.sent = append(b.sent, spent{b.clock(), 1 + len(ports)})
	if b.off[lid-1] {
		return nil
	}
	var out bytes.Buffer
	for _, port := range ports {
		title, fields := "Port counters", fieldsOfTrend
		if wide {
			title, fields = "Port extended counters", fieldsOfData
			if !b.basic {
				fields = append(fields[:len(fields):len(fields)], fieldsOfTrend...)
			}
		}
		fmt.Fprintf(&out, "# %s: Lid %d port %d (CapMask: 0x5300)\nPortSelect:......................%d\n", title, lid, port, port)
		for _, f := range fields {
			fmt.Fprintf(&out, "%s:....%d\n", f, b.counters[fmt.Sprintf("%d/%d %s", lid, port, f)])
		}
		if b.rubbish {
			out.WriteString("QP1Dropped:....rubbish\n")
		}
	}
	return out.Bytes()
}

// numbers reads 1-4,7.
func numbers(s string) (out []int) {
	for _, part := range strings.Split(s, ",") {
		first, last, ok := strings.Cut(part, "-")
		a, _ := strconv.Atoi(first)
		z := a
		if ok {
			z, _ = strconv.Atoi(last)
		}
		for ; a <= z; a++ {
			out = append(out, a)
		}
	}
	return out
}

// on returns a collector of the bench.
func on(t testing.TB, b *bench, c Config) *Collector {
	t.Helper()
	if c.PortName == "" {
		c.PortName = "eth{port}"
	}
	if c.Subnet == "" {
		c.Subnet = "p0"
	}
	out, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	out.run = b
	return out
}
