package ibdiag

import (
	"bytes"
	"strconv"
	"strings"
)

// NodeType is what a node of a subnet is.
type NodeType uint8

// The types.
const (
	Switch  NodeType = iota + 1
	Adapter          // a host channel adapter
	Router
)

// Topology is a subnet as ibnetdiscover found it.
type Topology struct {
	Nodes  []Node
	Origin uint64 // GUID of the node that it was seen from; 0 if not stated
}

// Node is a switch or an adapter.
type Node struct {
	Type           NodeType
	GUID           uint64
	Vendor, Device uint32
	Ports          int // that it has, linked or not
	Description    string
	LID            uint16 // of a switch; an adapter's ports have their own
	Links          []Link // of the ports that are linked
}

// Link is one end of a cable whose other end answers.
type Link struct {
	Port     int
	GUID     uint64 // of an adapter's port; 0 of a switch's
	LID      uint16 // the same
	Peer     uint64 // GUID
	PeerPort int
	Width    int    // lanes; 0 if not known
	Speed    string // "HDR"; "" if not known
}

// MaxNodes is the most nodes of a subnet: as many as there are unicast
// addresses (IBTA: LIDs 0x0001 to 0xBFFF).
const MaxNodes = 0xBFFF

// MaxPort is the highest port number there is (IBTA: 254; 255 means all).
const MaxPort = 254

// ParseTopology reads what ibnetdiscover prints in its full form. Lines that mean
// nothing are faults, and the rest is kept. The error reports why there is no
// topology at all.
func ParseTopology(text []byte) (*Topology, *Faults, error) {
	p := topologyParser{faults: &Faults{}, out: &Topology{}}
	for line := range bytes.Lines(text) {
		p.number++
		if p.first == nil && len(bytes.TrimSpace(line)) > 0 {
			p.first = line
		}
		p.line(strings.TrimSpace(string(line)))
	}
	if len(p.out.Nodes) == 0 {
		return nil, p.faults, another(p.first, "a topology in full (ibnetdiscover)")
	}
	return p.out, p.faults, nil
}

type topologyParser struct {
	number int
	first  []byte // the first line that is not blank
	out    *Topology
	faults *Faults
	head   Node // what was read before the next node's own line
	open   bool // the last node takes links
}

func (p *topologyParser) line(s string) {
	switch {
	case s == "":
		p.open, p.head = false, Node{}
	case strings.HasPrefix(s, "#"):
		p.comment(s)
	case strings.HasPrefix(s, "["):
		p.link(s)
	case strings.HasPrefix(s, "vendid="):
		p.head.Vendor = p.id(s)
	case strings.HasPrefix(s, "devid="):
		p.head.Device = p.id(s)
	case strings.HasPrefix(s, "sysimgguid="), strings.HasPrefix(s, "switchguid="), strings.HasPrefix(s, "caguid="), strings.HasPrefix(s, "rtguid="):
		// The node's own line repeats it.
	default:
		p.node(s)
	}
}

// comment takes the node that the search began at: "# Initiated from node GUID
// port GUID".
func (p *topologyParser) comment(s string) {
	if rest, ok := strings.CutPrefix(s, "# Initiated from node "); ok {
		word, _, _ := strings.Cut(rest, " ")
		p.out.Origin, _ = strconv.ParseUint(word, 16, 64) // a comment: nothing hangs on it
	}
}

func (p *topologyParser) id(s string) uint32 {
	_, v, _ := strings.Cut(s, "=")
	n, err := strconv.ParseUint(v, 0, 32)
	if err != nil {
		p.faults.add(p.number, "%.40q: want a number", s)
	}
	return uint32(n)
}

// node reads: Switch 65 "S-<GUID>" # "<description>" enhanced port 0 lid 73 lmc 0.
func (p *topologyParser) node(s string) {
	p.open = false
	n := p.head
	p.head = Node{}
	kind, rest, _ := cutSpace(s)
	switch kind {
	case "Switch":
		n.Type = Switch
	case "Ca", "Hca":
		n.Type = Adapter
	case "Rt":
		n.Type = Router
	default:
		p.faults.add(p.number, "%.40q: neither a node nor a link", s)
		return
	}
	ports, rest, _ := cutSpace(rest)
	count, err := strconv.Atoi(ports)
	guid, rest, ok := quotedGUID(rest)
	if err != nil || count < 0 || count > MaxPort || !ok {
		p.faults.add(p.number, "%.60q: want a number of ports and an identity", s)
		return
	}
	n.GUID, n.Ports = guid, count
	if len(p.out.Nodes) == MaxNodes {
		p.faults.add(p.number, "%.60q: more than %d nodes", s, MaxNodes)
		return
	}
	var after string
	n.Description, _, after = quoted(rest)
	n.LID = lidIn(after)
	p.out.Nodes = append(p.out.Nodes, n)
	p.open = true
}

// link reads: [35] "S-<GUID>"[32] # "<description>" lid 236 4xNDR, an adapter's
// with (<port GUID>) before and "lid 130 lmc 0" of its own after the mark.
func (p *topologyParser) link(s string) {
	if !p.open {
		p.faults.add(p.number, "%.40q: a link of no node", s)
		return
	}
	n := &p.out.Nodes[len(p.out.Nodes)-1]
	var l Link
	var rest string
	var ok bool
	if l.Port, rest, ok = portNumber(s); !ok || l.Port > n.Ports {
		p.faults.add(p.number, "%.40q: want one of %d ports", s, n.Ports)
		return
	}
	l.GUID, rest = inParens(rest)
	if l.Peer, rest, ok = quotedGUID(rest); ok {
		l.PeerPort, rest, ok = portNumber(rest)
	}
	if !ok {
		p.faults.add(p.number, "%.60q: want the other end's identity and port", s)
		return
	}
	_, own, after := quoted(rest)
	l.LID = lidIn(own)
	l.Width, l.Speed = speedIn(after)
	for i := range n.Links {
		if n.Links[i].Port == l.Port {
			p.faults.add(p.number, "%.40q: port %d twice", s, l.Port)
			return
		}
	}
	n.Links = append(n.Links, l)
}

// cutSpace cuts a text at its first white space.
func cutSpace(s string) (word, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, "", s != ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t"), true
}

// quotedGUID reads "S-<GUID>" at the beginning.
func quotedGUID(s string) (guid uint64, rest string, ok bool) {
	s, ok = strings.CutPrefix(strings.TrimLeft(s, " \t"), `"`)
	if !ok {
		return 0, s, false
	}
	id, rest, ok := strings.Cut(s, `"`)
	if !ok || len(id) < 3 || id[1] != '-' {
		return 0, s, false
	}
	guid, err := strconv.ParseUint(id[2:], 16, 64)
	return guid, rest, err == nil
}

// portNumber reads [7] at the beginning, and skips what a chassis calls the
// port: [7][ext 3].
func portNumber(s string) (port int, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "[")
	if !ok {
		return 0, s, false
	}
	digits, rest, ok := strings.Cut(s, "]")
	if !ok {
		return 0, s, false
	}
	port, err := strconv.Atoi(digits)
	if err != nil || port < 0 || port > MaxPort {
		return 0, s, false
	}
	if strings.HasPrefix(rest, "[ext ") {
		_, rest, _ = strings.Cut(rest, "]")
	}
	return port, rest, true
}

// inParens reads (<port GUID>) at the beginning; 0 if there is none.
func inParens(s string) (guid uint64, rest string) {
	if inner, ok := strings.CutPrefix(s, "("); ok {
		if digits, rest, ok := strings.Cut(inner, ")"); ok {
			guid, _ = strconv.ParseUint(digits, 16, 64) // what is no GUID is none
			return guid, rest
		}
	}
	return 0, s
}

// quoted finds a description, which may have quotes in it, and the text before and
// after it, behind the mark of a comment.
func quoted(s string) (text, before, after string) {
	_, s, _ = strings.Cut(s, "#")
	first, last := strings.IndexByte(s, '"'), strings.LastIndexByte(s, '"')
	if first < 0 || first == last {
		return "", s, s
	}
	return s[first+1 : last], s[:first], s[last+1:]
}

// lidIn reads "lid 73" anywhere in s; 0 if there is none.
func lidIn(s string) uint16 {
	words := strings.Fields(s)
	for i := 0; i+1 < len(words); i++ {
		if words[i] == "lid" {
			n, _ := strconv.ParseUint(words[i+1], 10, 16) // what is no lid is none
			return uint16(n)
		}
	}
	return 0
}

// speedIn reads "4xNDR" anywhere in s; what is not known reads ???. A speed is
// letters and digits: damaged text is no speed.
func speedIn(s string) (width int, speed string) {
	for _, word := range strings.Fields(s) {
		w, name, ok := strings.Cut(word, "x")
		n, err := strconv.Atoi(w)
		if !ok || err != nil || n < 1 || n > 12 {
			continue
		}
		if strings.ContainsFunc(name, func(r rune) bool { return !isWord(r) }) {
			name = ""
		}
		return n, name
	}
	return 0, ""
}

// isWord reports whether r is a letter or digit of ASCII.
func isWord(r rune) bool {
	return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}
