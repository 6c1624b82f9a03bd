package fabric

import "github.com/quintet-dc/quintet/telemetry"

// Sent is what the ends of some nodes send now beyond before, in units of speed (a
// link of that many bytes per second); ends that send less are not counted against
// it.
func Sent(now, before *Readings, nodes []telemetry.Entity, speed float64) float64 {
	if speed <= 0 {
		return 0
	}
	m := now.Map
	var rise float64
	for _, node := range nodes {
		for _, i := range m.Links(node) {
			more := now.Of[i].Util - before.Of[i].Util
			if more > 0 && m.Ends[i].IsNIC() {
				rise += float64(more * m.Ends[i].Speed)
			}
		}
	}
	return rise / speed
}

// Sent returns the mean bytes per second that end i sends over a span, and
// false where it is not seen in it.
func (m *Map) Sent(h History, grid telemetry.Duration, s Span, i int) (float64, bool) {
	slot := m.SentBy(i)
	if slot < 0 {
		return 0, false
	}
	var total float64
	n := 0
	for g := s.From.Add(grid); g <= s.To; g = g.Add(grid) {
		if v, ok := h.At(slot, g); ok {
			total += v
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return total / float64(n), true
}
