// Package plant is what feeds and cools a simulated site: feeds, UPSs with
// batteries, PDUs and shelves on two sides, coolant units with pumps and loops,
// and the air before the machines.
//
// It owns who carries how much, what is drawn on when something cannot carry it
// (battery, then the power brake), and where flows and temperatures come to
// rest. It takes what machines draw and the condition of the plant, and says
// what machines get. It knows no GPU's clock, no job and no fault by name.
package plant
