package network

import "math"

// quanta is the longest pause one PFC frame can ask for, in bit times: 65,535
// quanta of 512 (IEEE 802.1Qbb).
const quanta = 65535 * 512

// LeastPauseFrames is the fewest PFC frames a second that stop a link of a
// speed (bits per second) for a share of the time: 2,980 for all of it at
// 100 Gb/s. Devices send more, since they renew before the pause ends and let
// go by a frame of zero.
func LeastPauseFrames(stopped, speed float64) float64 { return float64(stopped*speed) / quanta }

// Wait is how a device counts PortXmitWait.
type Wait struct {
	BytesPerTick float64 // 8 on newer ASICs, 32 (8 a lane, four lanes) on older
	Width        uint    // bits; the counter sticks when they are full
}

// Ticks is how many ticks a second a port of a speed (bits per second) counts
// while it has no credit for a share of the time.
func (w Wait) Ticks(stopped, speed float64) float64 {
	return float64(stopped*speed) / 8 / w.BytesPerTick
}

// Count is what the counter shows after so many ticks altogether.
func (w Wait) Count(ticks float64) uint64 {
	top := uint64(math.MaxUint64)
	if w.Width < 64 {
		top = 1<<w.Width - 1
	}
	if ticks >= float64(top) {
		return top
	}
	return uint64(ticks)
}
