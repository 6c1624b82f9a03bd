package jobs

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// netqItem is an item of NetQ's topology graph, or of NMX's list of compute
// nodes.
type netqItem struct {
	Name, DomainUUID string
	Links            []struct {
		Cables []struct {
			Interfaces []struct{ Interface, Node string }
		} `json:"compounded_links"`
	}
	Nodes []struct {
		Members []struct {
			ID, Name string
			Type     string `json:"device_type"`
		} `json:"compounded_nodes"`
	}
}

// netq reads a JSON list: cables that NetQ has found by LLDP, and nodes each in
// an NVLink domain.
func (l *layout) netq(text []byte) {
	var list []netqItem
	if err := unmarshal(text, &list); err != nil {
		l.fail("%w: %w", errLayout, err)
		return
	}
	for i := range list {
		x := &list[i]
		switch {
		case len(x.Links) > 0:
			l.cables(x)
		case x.Name != "" && x.DomainUUID != "":
			l.edge(telemetry.Entity{Kind: telemetry.Node, Name: telemetry.NamePart(x.Name)}, telemetry.Member, group("accelerator-domain", x.DomainUUID))
		default:
			l.fail("%w: item %d: want links, or Name and DomainUUID", errLayout, i+1)
		}
	}
}

// cables states the connections: of ports of switches, and of network interfaces of
// any other known device.
func (l *layout) cables(x *netqItem) {
	kind, name := map[string]telemetry.Kind{}, map[string]string{}
	for _, tier := range x.Nodes {
		for _, m := range tier.Members {
			kind[m.ID], name[m.ID] = telemetry.NIC, m.Name
			if m.Type == "switch" {
				kind[m.ID] = telemetry.Port
			}
		}
	}
	for _, link := range x.Links {
		for _, c := range link.Cables {
			var ends []telemetry.Entity
			for _, i := range c.Interfaces {
				if name[i.Node] == "" || i.Interface == "" {
					l.fail("%w: a cable to %.40q, which is no node of the graph", errLayout, i.Node)
					return
				}
				ends = append(ends, telemetry.Entity{Kind: kind[i.Node], Name: telemetry.NamePart(name[i.Node]) + "/" + telemetry.NamePart(i.Interface)})
			}
			if len(ends) != 2 {
				l.fail("%w: %s", errLayout, fmt.Sprintf("a cable with %d ends", len(ends)))
				return
			}
			l.edge(ends[0], telemetry.Connects, ends[1])
		}
	}
}
