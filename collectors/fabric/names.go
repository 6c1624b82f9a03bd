package fabric

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/telemetry"
)

// node is a switch or an adapter with the names of its ports.
type node struct {
	guid    uint64
	of      nature
	kind    ibdiag.NodeType
	name    string // of a switch; "<node>/<device>" of an adapter
	host    string // of an adapter, "" if not known
	lid     uint16
	many    bool // an adapter with several ports
	unnamed bool // it reported no name
	device  *device
	portFmt string
}

// port returns the entity of a port.
func (n *node) port(number int) telemetry.Entity {
	switch {
	case n.kind == ibdiag.Switch:
		name := strings.ReplaceAll(n.portFmt, "{port}", strconv.Itoa(number))
		if strings.Contains(name, "{") {
			name = strings.ReplaceAll(name, "{cage}", strconv.Itoa((number+1)/2))
			name = strings.ReplaceAll(name, "{split}", strconv.Itoa(2-number%2))
		}
		return telemetry.Entity{Kind: telemetry.Port, Name: n.name + "/" + name}
	case n.many:
		return telemetry.Entity{Kind: telemetry.NIC, Name: n.name + ":" + strconv.Itoa(number)}
	}
	return telemetry.Entity{Kind: telemetry.NIC, Name: n.name}
}

// owner returns what contains the node's ports.
func (n *node) owner() telemetry.Entity {
	switch {
	case n.kind == ibdiag.Switch:
		return telemetry.Entity{Kind: telemetry.Switch, Name: n.name}
	case n.host == "":
		return telemetry.Entity{}
	}
	return telemetry.Entity{Kind: telemetry.Node, Name: n.host}
}

// cabled reports whether the node's cables are the site's: the engine inside a
// switch has none, and behind a router is another subnet.
func (n *node) cabled() bool {
	return n.kind != ibdiag.Router && n.of != isAggregation
}

// namer names the nodes of a subnet.
type namer struct {
	profile *Profile
	given   map[uint64]string // the node name map
	portFmt string
}

// names names every node; doubles is how many had a name that was taken.
func (m *namer) names(t *ibdiag.Topology) (nodes map[uint64]*node, doubles int) {
	nodes = make(map[uint64]*node, len(t.Nodes))
	taken := map[string]bool{}
	for i := range t.Nodes {
		x := &t.Nodes[i]
		if nodes[x.GUID] != nil {
			doubles++
			continue
		}
		n := m.node(x)
		key := strconv.Itoa(int(n.kind)) + n.name
		if taken[key] {
			doubles++
			n.name, n.host = byGUID(x.GUID), ""
		}
		taken[key] = true
		nodes[x.GUID] = n
	}
	return nodes, doubles
}

// node names one node.
func (m *namer) node(x *ibdiag.Node) *node {
	n := &node{guid: x.GUID, kind: x.Type, lid: x.LID, many: x.Type != ibdiag.Switch && x.Ports > 1,
		unnamed: strings.TrimSpace(x.Description) == "", device: m.profile.device(x.Vendor, x.Device), portFmt: m.portFmt}
	if given, ok := m.given[x.GUID]; ok && x.Type == ibdiag.Switch {
		n.of, n.name = isSwitch, collectors.Part(given)
	} else {
		n.described(m.profile.Names, given, x)
	}
	// The longest port adds its number.
	if len(n.name) > telemetry.MaxNameBytes-50 {
		n.name, n.host = byGUID(x.GUID), ""
	}
	return n
}

// described names a node by the first rule that fits its description.
func (n *node) described(rules []rule, given string, x *ibdiag.Node) {
	text := x.Description
	if given != "" {
		text = given
	}
	fits := isAdapter
	if x.Type == ibdiag.Switch {
		fits = isSwitch
	}
	for i := range rules {
		r := &rules[i]
		if (r.Of == isSwitch || r.Of == isAdapter) && r.Of != fits {
			continue
		}
		if found := r.Pattern.FindStringSubmatch(text); found != nil && n.ruled(r, found) {
			return
		}
	}
	// No rule: the description as it is.
	n.of, n.name = fits, collectors.Part(strings.TrimSpace(text))
	if x.Type != ibdiag.Switch {
		n.name += "/" + byGUID(x.GUID)
	}
}

// ruled names a node by a rule that fits, false if the rule gives no name.
func (n *node) ruled(r *rule, found []string) bool {
	group := func(name string) string {
		if i := r.Pattern.SubexpIndex(name); i >= 0 {
			return found[i]
		}
		return ""
	}
	n.of = r.Of
	switch r.Of {
	case isSwitch:
		n.name = collectors.Part(group("name"))
		if board := group("board"); board != "" {
			n.name += "-" + collectors.Part(board)
		}
		return group("name") != ""
	case isAdapter:
		device := group("device")
		if ordinal, err := strconv.Atoi(group("ordinal")); err == nil && ordinal > 0 {
			device = "mlx5_" + strconv.Itoa(ordinal-1)
		}
		n.host = collectors.Part(group("node"))
		n.name = n.host + "/" + collectors.Part(device)
		return group("node") != "" && device != ""
	}
	n.name = byGUID(n.guid)
	return true
}

// byGUID is the name of what has none.
func byGUID(guid uint64) string { return fmt.Sprintf("guid-%016x", guid) }

// maxNames is how many lines of a node name map are read.
const maxNames = 200_000

// readNames reads a node name map: lines of a GUID and a name, which may be
// quoted; what follows a '#' is a comment.
func readNames(path string) (map[uint64]string, error) {
	out := map[uint64]string{}
	if path == "" {
		return out, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("node_name_map: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	s := bufio.NewScanner(f)
	for line := 1; s.Scan(); line++ {
		guid, name, err := nameLine(s.Text())
		if err != nil {
			return nil, fmt.Errorf("node_name_map %s: line %d: %w", path, line, err)
		}
		if name == "" {
			continue
		}
		if len(out) == maxNames {
			return nil, fmt.Errorf("node_name_map %s: line %d: more than %d names", path, line, maxNames)
		}
		out[guid] = name
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("node_name_map %s: %w", path, err)
	}
	return out, nil
}

// nameLine reads one line; an empty name means that there is none on it.
func nameLine(s string) (guid uint64, name string, err error) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] == '#' {
		return 0, "", nil
	}
	word, rest, _ := strings.Cut(s, " ")
	if i := strings.IndexByte(word, '\t'); i >= 0 {
		word, rest = s[:i], s[i:]
	}
	if guid, err = strconv.ParseUint(word, 0, 64); err != nil {
		return 0, "", fmt.Errorf("%.40q: want a GUID such as 0x2c5eab0300b87b40", word)
	}
	rest = strings.TrimSpace(rest)
	if inner, ok := strings.CutPrefix(rest, `"`); ok {
		if inner, _, ok = strings.Cut(inner, `"`); !ok {
			return 0, "", fmt.Errorf("%.40q: the quote does not end", rest)
		}
		rest = inner
	} else {
		rest, _, _ = strings.Cut(rest, "#")
		rest = strings.TrimSpace(rest)
	}
	if rest == "" {
		return 0, "", fmt.Errorf("%s has no name", word)
	}
	return guid, rest, nil
}
