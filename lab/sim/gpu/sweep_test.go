package gpu_test

import (
	"cmp"
	"encoding/csv"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/gpu"
)

// point is one training run under one power limit.
type point struct{ limit, seconds, watts float64 }

// sweeps reads a table of runs: work → its runs by limit, lowest first.
func sweeps(t *testing.T, name string) map[string][]point {
	t.Helper()
	const folder = "../../../../shared/fixtures/power/zeus/"
	f, err := os.Open(folder + name)
	if err != nil {
		t.Skip("../shared/fixtures/power is not there")
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]point{}
	for _, row := range rows[1:] {
		var v [3]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[4+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		work := row[0] + " " + row[1] + " " + row[2] + " " + row[3]
		out[work] = append(out[work], point{v[0], v[1], v[2]})
	}
	for _, runs := range out { // order-independent: each is sorted by itself
		slices.SortFunc(runs, func(a, b point) int { return cmp.Compare(a.limit, b.limit) })
	}
	return out
}

// throughput is the median speed at each share of the highest limit, of works
// that draw at least three quarters of it when they may.
func throughput(t *testing.T, name string) map[float64]float64 {
	t.Helper()
	all := map[float64][]float64{}
	for _, runs := range sweeps(t, name) {
		top := runs[len(runs)-1]
		if top.watts < 0.75*top.limit {
			continue
		}
		for _, r := range runs {
			all[r.limit/top.limit] = append(all[r.limit/top.limit], top.seconds/r.seconds)
		}
	}
	out := map[float64]float64{}
	for share, speeds := range all {
		slices.Sort(speeds)
		out[share] = (speeds[(len(speeds)-1)/2] + speeds[len(speeds)/2]) / 2
	}
	return out
}

// TestThroughputUnderPowerLimits compares the model's shape with three kinds of
// GPU, each with its own constants: static power, slope and floor of the voltage,
// the share of work bound by the clock, and the power of the work at the top clock.
func TestThroughputUnderPowerLimits(t *testing.T) {
	for _, c := range []struct {
		table                             string
		static, slope, floor, bound, draw float64
		within                            float64
	}{
		{"summary_power_v100.csv", 0.14, 0.75, 0.85, 0.6, 0.95, 0.01},
		{"summary_power_rtx6000.csv", 0.28, 0.9, 0.7, 0.6, 0.95, 0.02},
		{"summary_power_a40.csv", 0.24, 0.9, 0.8, 0.9, 0.9, 0.055},
	} {
		m := gpu.Model{Limit: 1, Static: c.static, Dynamic: c.draw - c.static, Slope: c.slope, Floor: c.floor, Top: 1, Bottom: 0.02, Bin: 0.001}
		measured := throughput(t, c.table)
		if len(measured) < 5 {
			t.Errorf("%s: %d limits", c.table, len(measured))
		}
		for _, share := range slices.Sorted(maps.Keys(measured)) {
			x := m.Highest(share, 0, 1)
			got := 1 / gpu.Stretch(c.bound, x)
			t.Logf("%s: limit %.2f: measured %.3f, model %.3f", c.table, share, measured[share], got)
			if d := got - measured[share]; d > c.within || d < -c.within {
				t.Errorf("%s: at %.2f of the limit %.3f of the speed, measured %.3f", c.table, share, got, measured[share])
			}
		}
	}
}
