package stats_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/stats"
)

func TestTurnFindsTheChangePoint(t *testing.T) {
	for _, c := range []struct {
		row         string
		first, last int // -1 where it does not turn
	}{
		{"....................XXXXXXXXXXXXXXXXXXXX", 20, 20},
		{"...X................XXXXXXXXXXXXXXXXXXXX", 20, 20}, // one value above before it is no onset
		{"..........X.X.X.XX.XXX.XX.XXX", 10, 16},            // bursts: it may have begun at any of the first
		{"XXXXXXXXXX..........", -1, -1},
		{"....................", -1, -1},
		{"..X..", -1, -1},
		{"", -1, -1},
	} {
		row := make([]bool, len(c.row))
		for i := range row {
			row[i] = c.row[i] == 'X'
		}
		first, last, ok := stats.Turn(row)
		switch {
		case ok != (c.first >= 0):
			t.Errorf("%s: turned is %v", c.row, ok)
		case ok && (first > c.first || last < c.first || first < c.first-2 || last > c.last+6):
			t.Errorf("%s: between %d and %d, want about %d to %d", c.row, first, last, c.first, c.last)
		}
	}
}
