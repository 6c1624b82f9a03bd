// Package stats holds the engine's arithmetic: robust statistics of small
// samples, and exp, log and power that give the same bits on every machine.
//
// It owns no state. It never uses math.Exp, Log or Pow (they differ between
// machines), never lets a product meet a sum in one fused step (I7), never
// subtracts what it added (I6), and allocates nothing: functions that need to
// reorder do so in the caller's slice.
package stats
