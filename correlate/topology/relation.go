package topology

import "github.com/quintet-dc/quintet/telemetry"

// relation is a telemetry.Relation as a small number. The numbers follow the
// alphabet, so that they order as the names do.
type relation uint8

const (
	connects relation = iota
	contains
	cools
	feeds
	member
	pairs
	runs
	uses
	relations
)

var relationNames = [relations]telemetry.Relation{
	telemetry.Connects, telemetry.Contains, telemetry.Cools, telemetry.Feeds,
	telemetry.Member, telemetry.Pairs, telemetry.Runs, telemetry.Uses,
}

func relationOf(r telemetry.Relation) (relation, bool) {
	for i, n := range relationNames {
		if n == r {
			return relation(i), true
		}
	}
	return 0, false
}

// depth orders kinds from the outside in. A containment from a lower to a
// higher depth can never be part of a loop, which is why loops are looked for
// only where another kind of containment exists.
func depth(k telemetry.Kind) int {
	switch k {
	case telemetry.Hall:
		return 1
	case telemetry.Row:
		return 2
	case telemetry.Rack, telemetry.CDU, telemetry.CRAH, telemetry.UPS, telemetry.Job:
		return 3
	case telemetry.Shelf, telemetry.PDU, telemetry.Loop:
		return 4
	case telemetry.Node, telemetry.Switch, telemetry.Storage, telemetry.Feed, telemetry.Rank:
		return 5
	case telemetry.GPU, telemetry.NIC, telemetry.NVSwitch, telemetry.PSU, telemetry.Breaker, telemetry.Battery,
		telemetry.Pump, telemetry.Valve, telemetry.Fan, telemetry.SM:
		return 6
	case telemetry.Port, telemetry.NVLink:
		return 7
	case telemetry.Optic, telemetry.Queue:
		return 8
	}
	return 0 // site, and what is rather joined by membership: plane, rail, tenant, group
}

// homes is up to three kinds; the rest is empty. An array, because asking for
// it must not allocate.
type homes [3]telemetry.Kind

// homeKinds lists, for a kind whose name implies its container, the kinds that
// container may have. The first that the site has stated is meant;
// without any, the first.
func homeKinds(k telemetry.Kind) homes {
	switch k {
	case telemetry.GPU, telemetry.NIC:
		return homes{telemetry.Node}
	case telemetry.NVLink:
		return homes{telemetry.GPU, telemetry.NVSwitch}
	case telemetry.Rank:
		return homes{telemetry.Job}
	case telemetry.Port:
		return homes{telemetry.Switch, telemetry.NIC, telemetry.Node}
	case telemetry.Queue:
		return homes{telemetry.Port, telemetry.NIC}
	}
	return homes{}
}

// rivalHomes lists the other kinds that could be meant where a name's prefix
// is that of a k: when a k becomes known, what was put into them is looked at
// again.
func rivalHomes(k telemetry.Kind) homes {
	switch k {
	case telemetry.GPU:
		return homes{telemetry.NVSwitch}
	case telemetry.NVSwitch:
		return homes{telemetry.GPU}
	case telemetry.Switch:
		return homes{telemetry.NIC, telemetry.Node}
	case telemetry.Node:
		return homes{telemetry.Switch, telemetry.NIC}
	case telemetry.NIC:
		return homes{telemetry.Port, telemetry.Switch, telemetry.Node}
	case telemetry.Port:
		return homes{telemetry.NIC}
	}
	return homes{}
}
