package bus

import (
	"testing"
	"time"
)

// TestPatienceGrowsWithWhatIsUnderWay: a few messages are sent again soon, for they may
// have met a log without a leader; what a slow link is still carrying is not.
func TestPatienceGrowsWithWhatIsUnderWay(t *testing.T) {
	p := &publisher{}
	for bytes, want := range map[int]time.Duration{0: minPatience, 1000: minPatience + 4*time.Millisecond, slowestBytes: minPatience + time.Second, windowBytes: maxPatience} {
		if got := p.patienceWith(&batch{bytes: bytes}); got < want-time.Millisecond || got > want+time.Millisecond {
			t.Errorf("%d bytes: %v, want %v", bytes, got, want)
		}
	}
}
