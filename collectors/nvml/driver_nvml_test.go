//go:build nvml

package nvml

import (
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestAgreesWithNvidiaSMI: on a host with GPUs, the emitted values equal those of
// nvidia-smi at the same moment. Skips where there is no GPU.
func TestAgreesWithNvidiaSMI(t *testing.T) {
	const fields = "index,power.draw.instant,enforced.power.limit,temperature.gpu,clocks.sm,clocks.mem,memory.used,pcie.link.gen.current,pcie.link.width.current," +
		"clocks_event_reasons.active,temperature.memory"
	smi := func() [][]string {
		b, err := exec.Command("nvidia-smi", "--query-gpu="+fields, "--format=csv,noheader,nounits").Output()
		if err != nil {
			t.Skipf("nvidia-smi: %v", err)
		}
		var rows [][]string
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			row := strings.Split(line, ",")
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			rows = append(rows, row)
		}
		return rows
	}
	before := smi()
	c, err := New(Config{Node: "here"})
	if err != nil {
		t.Fatal(err)
	}
	p := read(t, c, func(p *page) bool { return len(p.Sweeps) >= 3 })
	after := smi()
	for _, s := range p.Sweeps {
		t.Logf("a sweep of %d values took %v", s.Read, s.Took.Round(time.Microsecond))
	}
	for i := range before {
		gpu := "here/" + before[i][0]
		near := func(what string, got, slack float64, column int, scale float64) {
			a, errA := strconv.ParseFloat(before[i][column], 64)
			b, errB := strconv.ParseFloat(after[i][column], 64)
			if errA != nil || errB != nil {
				t.Logf("%s: nvidia-smi says %q", what, before[i][column])
				return
			}
			lo, hi := min(a, b)*scale-slack, max(a, b)*scale+slack
			t.Logf("%s %s: %g; nvidia-smi %g and %g", gpu, what, got, a*scale, b*scale)
			if got < lo || got > hi {
				t.Errorf("%s %s: %g, want %g to %g", gpu, what, got, lo, hi)
			}
		}
		word := func(m string) float64 {
			w, s := p.of(gpu, m)
			if s != telemetry.Present {
				return math.NaN()
			}
			return float64(w)
		}
		near("power in W", word("gpu_power_watts")/1e3, 60, 1, 1) // instantaneous: it wanders
		near("limit in W", word("gpu_power_limit_watts")/1e3, 0.5, 2, 1)
		near("temperature", word("gpu_temperature_celsius"), 3, 3, 1)
		near("SM clock in Hz", word("gpu_sm_clock_hertz"), 60e6, 4, 1e6)
		near("memory clock in Hz", word("gpu_memory_clock_hertz"), 1e6, 5, 1e6)
		near("memory used", word("gpu_memory_used_bytes"), 1<<30, 6, 1<<20)
		near("lanes", word("pcie_link_width"), 0, 8, 1)
		near("memory temperature", word("gpu_memory_temperature_celsius"), 3, 10, 1)
		t.Logf("%s reasons %#x, nvidia-smi %s", gpu, uint64(word("gpu_clock_event_reasons")), before[i][9])
	}
	for k := range p.Series {
		if r, _ := p.Last(k); r.State == telemetry.Present {
			t.Logf("%s %s %d", k.Entity, k.Metric, r.Word)
		}
	}
}
