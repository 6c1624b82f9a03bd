package site

import "github.com/quintet-dc/quintet/telemetry"

// The way of the power: feed → UPS → PDU (one per row) → shelf → PSU → node,
// twice, sides a and b, each able to carry all. The UPS has the battery.
//
// The way of the heat: a CDU cools the loops of its racks, a loop (behind its
// valve) the nodes of its rack; a CRAH per row cools what gives heat to the
// air.

// rack states a rack with nodes, its shelves and its loop.
func (s *Site) rack(w *writer, rack int) {
	r, loop := RackName(rack), LoopName(rack)
	row := rack / s.RacksPerRow
	w.edge(rowName(row), telemetry.Contains, r)
	w.edge(crah(row), telemetry.Cools, r)
	w.edge(r, telemetry.Contains, loop)
	w.edge(loop, telemetry.Contains, named(telemetry.Valve, "%s", loop.Name))
	w.edge(cduName(rack/s.RacksPerCDU), telemetry.Cools, loop)
	first, last := rack*s.NodesPerRack, min(s.Nodes, (rack+1)*s.NodesPerRack)
	for node := first; node < last; node++ {
		w.edge(r, telemetry.Contains, NodeName(node))
		w.edge(loop, telemetry.Cools, NodeName(node))
	}
	for side := range 2 {
		shelf := ShelfName(rack, side)
		w.edge(r, telemetry.Contains, shelf)
		w.edge(pdu(row, side), telemetry.Feeds, shelf)
		for i := range s.PSUs {
			psu := PSUName(rack, side, i)
			w.edge(shelf, telemetry.Contains, psu)
			w.edge(shelf, telemetry.Feeds, psu)
			for node := first; node < last; node++ {
				w.edge(psu, telemetry.Feeds, NodeName(node))
			}
		}
	}
}

// networkRacks states where the switches stand: the leaves of a block of nodes
// in one rack in the row of those nodes, the spines eight to a rack over all
// rows. Both PDUs of the row feed each switch; the row's CRAH cools the rack.
func (s *Site) networkRacks(w *writer) {
	for number := range s.Switches() {
		rack, row := s.locate(number)
		s.place(w, s.SwitchName(number), rack, row)
	}
}

// locate returns the network rack and row of a switch.
func (s *Site) locate(number int) (rack telemetry.Entity, row int) {
	perBlock := 1
	if s.Wiring == Rails {
		perBlock = s.GPUs
	}
	fabric, n := number/(s.Leaves+s.Spines), number%(s.Leaves+s.Spines)
	if n < s.Leaves {
		block := n / perBlock
		return named(telemetry.Rack, "l%03d", block), block * s.NodesPerLeaf / s.NodesPerRack / s.RacksPerRow
	}
	spines := (fabric*s.Spines + n - s.Leaves) / spinesPerRack
	return named(telemetry.Rack, "s%03d", spines), spines % s.Rows()
}

// SwitchRow is the row whose PDUs feed a switch and whose air cools it.
func (s *Site) SwitchRow(number int) int {
	_, row := s.locate(number)
	return row
}

const spinesPerRack = 8

// place puts a switch in a network rack of a row. The rack's own edges come
// with its first switch.
func (s *Site) place(w *writer, sw, rack telemetry.Entity, row int) {
	if !w.placed[rack] {
		w.placed[rack] = true
		w.edge(rowName(row), telemetry.Contains, rack)
		w.edge(crah(row), telemetry.Cools, rack)
	}
	w.edge(rack, telemetry.Contains, sw)
	for side := range 2 {
		w.edge(pdu(row, side), telemetry.Feeds, sw)
	}
}

// Rows is how many rows of racks there are.
func (s *Site) Rows() int { return (s.Racks + s.RacksPerRow - 1) / s.RacksPerRow }

// Halls is how many halls there are.
func (s *Site) Halls() int { return (s.Rows() + s.RowsPerHall - 1) / s.RowsPerHall }

// CDUs is how many coolant units there are.
func (s *Site) CDUs() int { return (s.Racks + s.RacksPerCDU - 1) / s.RacksPerCDU }

func rowName(row int) telemetry.Entity   { return named(telemetry.Row, "row%02d", row) }
func crah(row int) telemetry.Entity      { return named(telemetry.CRAH, "row%02d", row) }
func hallName(hall int) telemetry.Entity { return named(telemetry.Hall, "hall%d", hall) }

func pdu(row, side int) telemetry.Entity {
	return named(telemetry.PDU, "row%02d/%s", row, sideName(side))
}

// rows states rows, halls, the site, and what serves them.
func (s *Site) rows(w *writer) {
	top := named(telemetry.Site, "%s", s.Name)
	for hall := range s.Halls() {
		w.edge(top, telemetry.Contains, hallName(hall))
		for side := range 2 {
			ups := UPSName(hall, side)
			w.edge(hallName(hall), telemetry.Contains, ups)
			w.edge(ups, telemetry.Contains, named(telemetry.Battery, "%s", ups.Name))
			w.edge(FeedName(side), telemetry.Feeds, ups)
		}
	}
	for row := range s.Rows() {
		hall := row / s.RowsPerHall
		w.edge(hallName(hall), telemetry.Contains, rowName(row))
		w.edge(rowName(row), telemetry.Contains, crah(row))
		for side := range 2 {
			w.edge(rowName(row), telemetry.Contains, pdu(row, side))
			w.edge(UPSName(hall, side), telemetry.Feeds, pdu(row, side))
		}
	}
	for cdu := range s.CDUs() {
		e := cduName(cdu)
		w.edge(hallName(cdu*s.RacksPerCDU/s.RacksPerRow/s.RowsPerHall), telemetry.Contains, e)
		w.edge(e, telemetry.Contains, PumpName(cdu, 0))
		w.edge(e, telemetry.Contains, PumpName(cdu, 1))
	}
}

func cduName(cdu int) telemetry.Entity { return named(telemetry.CDU, "cdu%02d", cdu) }
