// Package heat is temperature: of a GPU's die and its plate or heatsink, of a
// rack's coolant, of the air before the nodes of a row.
//
// It owns linear bodies that exchange heat, moved on exactly for inputs that do
// not change during a step, whatever the step's length, and the constants of
// cooling hardware with their sources. Temperatures are in °C, power in watts,
// flows in litres per minute. It knows no entity and no workload.
package heat
