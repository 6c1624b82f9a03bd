package site

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

func named(k telemetry.Kind, format string, args ...any) telemetry.Entity {
	return telemetry.Entity{Kind: k, Name: fmt.Sprintf(format, args...)}
}

// NodeName returns a node's entity.
func NodeName(node int) telemetry.Entity { return named(telemetry.Node, "n%04d", node) }

// GPUName returns a GPU's entity.
func GPUName(node, gpu int) telemetry.Entity { return named(telemetry.GPU, "n%04d/%d", node, gpu) }

// NICName returns a NIC's entity.
func NICName(node, nic int) telemetry.Entity { return named(telemetry.NIC, "n%04d/mlx5_%d", node, nic) }

// LeafName returns a leaf switch's entity.
func LeafName(fabric, leaf int) telemetry.Entity {
	return named(telemetry.Switch, "p%d-leaf%02d", fabric, leaf)
}

// SpineName returns a spine switch's entity.
func SpineName(fabric, spine int) telemetry.Entity {
	return named(telemetry.Switch, "p%d-spine%02d", fabric, spine)
}

// RackName returns a rack's entity.
func RackName(rack int) telemetry.Entity { return named(telemetry.Rack, "r%03d", rack) }

// LoopName returns the entity of a rack's coolant loop.
func LoopName(rack int) telemetry.Entity { return named(telemetry.Loop, "r%03d", rack) }

// ShelfName returns the entity of a rack's power shelf on side 0 or 1.
func ShelfName(rack, side int) telemetry.Entity {
	return named(telemetry.Shelf, "r%03d/%s", rack, sideName(side))
}

func sideName(side int) string { return [2]string{"a", "b"}[side] }

func portOf(sw telemetry.Entity, number int) telemetry.Entity {
	return named(telemetry.Port, "%s/eth%d", sw.Name, number+1)
}

// Cable returns the entities at a cable's ends: the one nearer to the nodes, a
// NIC or a leaf's port, then the other.
func (s *Site) Cable(cable int) (lower, upper telemetry.Entity) {
	if cable < s.HostCables() {
		node, nic := cable/s.GPUs, cable%s.GPUs
		fabric, leaf := s.Leaf(node, nic)
		return NICName(node, nic), portOf(LeafName(fabric, leaf), node%s.NodesPerLeaf)
	}
	cable -= s.HostCables()
	uplink, leaf, fabric := cable%s.Uplinks, cable/s.Uplinks%s.Leaves, cable/s.Uplinks/s.Leaves
	lower = portOf(LeafName(fabric, leaf), s.NodesPerLeaf+uplink)
	return lower, portOf(SpineName(fabric, uplink%s.Spines), leaf*(s.Uplinks/s.Spines)+uplink/s.Spines)
}

// Sender returns the entity whose transmit side a link is, and its peer.
func (s *Site) Sender(link int32) (from, to telemetry.Entity) {
	lower, upper := s.Cable(int(link / 2))
	if link%2 == 0 {
		return lower, upper
	}
	return upper, lower
}

// RowName returns a row's entity.
func RowName(row int) telemetry.Entity { return rowName(row) }

// CRAHName returns the entity of a row's air handler.
func CRAHName(row int) telemetry.Entity { return crah(row) }

// PDUName returns the entity of a row's power distribution unit on side 0 or 1.
func PDUName(row, side int) telemetry.Entity { return pdu(row, side) }

// UPSName returns the entity of a hall's UPS on side 0 or 1.
func UPSName(hall, side int) telemetry.Entity {
	return named(telemetry.UPS, "hall%d/%s", hall, sideName(side))
}

// FeedName returns the entity of the site's feed on side 0 or 1.
func FeedName(side int) telemetry.Entity { return named(telemetry.Feed, "%s", sideName(side)) }

// CDUName returns a coolant unit's entity.
func CDUName(cdu int) telemetry.Entity { return cduName(cdu) }

// PumpName returns the entity of a coolant unit's pump 0 or 1.
func PumpName(cdu, pump int) telemetry.Entity {
	return named(telemetry.Pump, "%s/%d", cduName(cdu).Name, pump+1)
}

// PSUName returns the entity of a power supply of a rack's shelf, from 0.
func PSUName(rack, side, psu int) telemetry.Entity {
	return named(telemetry.PSU, "%s/%d", ShelfName(rack, side).Name, psu+1)
}

// FanName returns the entity of a node's fan, from 0.
func FanName(node, fan int) telemetry.Entity {
	return named(telemetry.Fan, "%s/fan%d", NodeName(node).Name, fan+1)
}

// NVLinkName returns the entity of a GPU's NVLink.
func NVLinkName(node, gpu, link int) telemetry.Entity {
	return named(telemetry.NVLink, "%s/%d", GPUName(node, gpu).Name, link)
}
