package bus

import (
	"testing"
	"time"
)

// TestPatienceGrowsWithWhatIsUnderWay: a few messages are sent again soon, for they may
// have met a log without a leader; what a slow link is still carrying is not.
func TestPatienceGrowsWithWhatIsUnderWay(t *testing.T) {
	p := &publisher{}
	for bytes, want := range map[int]time.Duration{0: minAckTimeout, 1000: minAckTimeout + 4*time.Millisecond, slowestBytes: minAckTimeout + time.Second, windowBytes: maxAckTimeout} {
		if got := p.ackTimeout(&batch{bytes: bytes}); got < want-time.Millisecond || got > want+time.Millisecond {
			t.Errorf("%d bytes: %v, want %v", bytes, got, want)
		}
	}
}
