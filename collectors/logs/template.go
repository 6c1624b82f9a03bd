package logs

import (
	"fmt"
	"strings"
)

// template is text with variables: {code} is a group of the expression, {host}
// who wrote the line, {gpu:pci} what the table of GPUs has for a group.
type template []piece

type piece struct {
	text  string // literal, where name is ""
	table string // "" none
	name  string
}

// tables that a template may ask.
const (
	gpuTable    = "gpu"    // PCI address: the GPU's number
	nicTable    = "nic"    // PCI address or interface: the RDMA device
	portTable   = "port"   // a switch's own name of a port: the site's
	subnetTable = "subnet" // a host that runs a subnet manager: the subnet
)

func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			t, s = append(t, piece{text: s[:i]}), s[i:]
			continue
		}
		inside, rest, ok := strings.Cut(s[1:], "}")
		if !ok {
			return nil, fmt.Errorf("%q: a { without its }", s)
		}
		p := piece{name: inside}
		if table, name, ok := strings.Cut(inside, ":"); ok {
			p.table, p.name = table, name
			switch table {
			case gpuTable, nicTable, portTable, subnetTable:
			default:
				return nil, fmt.Errorf("{%s}: want one of the tables gpu, nic, port, subnet", inside)
			}
		}
		if p.name == "" {
			return nil, fmt.Errorf("{%s}: no name", inside)
		}
		t, s = append(t, p), rest
	}
	return t, nil
}

// fill writes a template; false where a variable has no value. Values pass
// through part, where that is not nil.
func (t template) fill(value func(p piece) (string, bool), part func(string) string) (string, bool) {
	var b strings.Builder
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		v, ok := value(p)
		if !ok {
			return "", false
		}
		if part != nil {
			v = part(v)
		}
		b.WriteString(v)
	}
	return b.String(), true
}
