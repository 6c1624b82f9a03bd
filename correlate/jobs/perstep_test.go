package jobs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

func rankSeries(name string, m telemetry.MetricName) telemetry.Series {
	return telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Rank, Name: name}, Metric: m}
}

const compute telemetry.MetricName = "rank_compute_seconds"

// naivePerStep keeps every value ever stated.
type naivePerStep map[telemetry.Series][]pending

func (n naivePerStep) values(s telemetry.Series, from, to telemetry.Time) []float64 {
	var in []float64
	for _, x := range n[s][max(0, len(n[s])-keptSteps):] {
		if x.at > from && x.at <= to {
			in = append(in, x.length)
		}
	}
	return in
}

// TestPerStepAgreesWithTheNaiveOne: four ranks state three metrics together, and
// one a fourth metric between its steps.
func TestPerStepAgreesWithTheNaiveOne(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var p PerStep
	naive := naivePerStep{}
	ranks := []string{"j/2", "j/0", "j/10", "j/1"}
	metrics := []telemetry.MetricName{compute, "rank_comm_wait_seconds", "rank_step_seconds"}
	state := func(s telemetry.Series, at telemetry.Time, x float64) {
		x = float64(float32(x))
		p.Observe(s, at, x)
		p.Observe(s, at, 99)   // a repeat is ignored
		p.Observe(s, at-10, 9) // and an older one
		naive[s] = append(naive[s], pending{at: at, length: x, n: 1})
	}
	for step := range 400 {
		at := telemetry.Time(10 * (step + 1))
		rank := ranks[r.IntN(len(ranks))]
		for _, m := range metrics {
			state(rankSeries(rank, m), at, 1+r.Float64())
		}
		if rank == "j/0" {
			state(rankSeries(rank, "rank_comm_transfer_seconds"), at+3, r.Float64())
		}
		s := rankSeries(rank, append(metrics, "rank_comm_transfer_seconds")[r.IntN(4)])
		from := telemetry.Time(r.IntN(4000))
		to := from + telemetry.Time(r.IntN(4000))
		want := naive.values(s, from, to)
		if got := p.Values(s, from, to); !slices.Equal(got, want) {
			t.Fatalf("%v in (%d, %d]: got %v, want %v", s, from, to, got, want)
		}
		got, n := p.Median(s, from, to)
		if n != len(want) || n > 0 && !close64(got, naiveQuantile(want, 0.5)) {
			t.Fatalf("median of %v: got %v of %d", want, got, n)
		}
		all := naive.values(s, 0, to)
		if got, n := p.Before(s, to, 10); n != min(10, len(all)) || n > 0 && !close64(got, naiveQuantile(all[len(all)-n:], 0.5)) {
			t.Fatalf("before %d of %v: got %v of %d", to, all, got, n)
		}
		if step%50 == 0 {
			p = againPerStep(t, &p)
		}
	}
	if _, n := p.Median(rankSeries("j/7", compute), 0, 1e9); n != 0 {
		t.Errorf("a rank never heard of has %d steps", n)
	}
}

func TestASeriesIsKnownByItsLastValues(t *testing.T) {
	var p PerStep
	s := rankSeries("j/0", compute)
	for x := range 200 {
		p.Observe(s, telemetry.Time(x+1), float64(x+1))
	}
	if m, n := p.Median(s, 0, 1000); n != 64 || m != 168.5 {
		t.Errorf("median %v of %d, want that of 137 to 200", m, n)
	}
}

// TestPerStepIsSmall: what is stated together shares its instants, so that
// 16,384 ranks of three metrics come to 21 MB.
func TestPerStepIsSmall(t *testing.T) {
	var p PerStep
	for at := range 200 {
		for rank := range 16 {
			for _, m := range []telemetry.MetricName{compute, "rank_comm_wait_seconds", "rank_comm_transfer_seconds"} {
				p.Observe(rankSeries(fmt.Sprintf("j/%d", rank), m), telemetry.Time(at+1), 1)
			}
		}
	}
	bytes := 0
	for _, r := range p.reporters {
		for _, k := range r.clocks {
			bytes += 8 * cap(k.at)
			for _, c := range k.columns {
				bytes += 4 * cap(c.value)
			}
		}
	}
	if perRank := bytes / 16; perRank > 1280 {
		t.Errorf("%d bytes a rank", perRank)
	}
}

func TestValuesThatAreNoneAreRefused(t *testing.T) {
	var p PerStep
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		p.Observe(rankSeries("j/0", compute), telemetry.Time(i+1), v)
	}
	for i := range maxColumns + 5 {
		p.Observe(rankSeries("j/0", telemetry.MetricName(fmt.Sprint("m", i))), telemetry.Time(10+i), 1)
	}
	if p.Refused != 8 {
		t.Errorf("refused %d, want 3 values and 5 series", p.Refused)
	}
	againPerStep(t, &p)
}

func againPerStep(t *testing.T, p *PerStep) PerStep {
	t.Helper()
	w := snapshot.NewWriter()
	p.Snapshot(w)
	c := snapshot.NewReader(w.Data())
	var out PerStep
	out.Snapshot(c)
	if c.Err() != nil || c.Remaining() != 0 {
		t.Fatalf("restore: %v, %d bytes left", c.Err(), c.Remaining())
	}
	return out
}

func FuzzPerStepSnapshot(f *testing.F) {
	var p PerStep
	for i := range 5 {
		p.Observe(rankSeries("j/1", compute), telemetry.Time(i+1), 0.5)
	}
	w := snapshot.NewWriter()
	p.Snapshot(w)
	f.Add(w.Data())
	f.Fuzz(func(t *testing.T, data []byte) {
		c := snapshot.NewReader(data)
		var p PerStep
		p.Snapshot(c)
		if c.Err() != nil {
			return
		}
		for _, r := range p.reporters {
			s := telemetry.Series{Entity: r.entity, Metric: compute}
			p.Median(s, 0, math.MaxInt64)
			p.Observe(s, math.MaxInt64, 1)
		}
	})
}

func TestSeriesOfUnequalListsAreRefused(t *testing.T) {
	p := PerStep{reporters: []*reporter{{entity: rankSeries("j/1", "").Entity, clocks: []clock{{at: []int64{1}, columns: []column{{metric: compute}}}}}}}
	w := snapshot.NewWriter()
	p.Snapshot(w)
	c := snapshot.NewReader(w.Data())
	new(PerStep).Snapshot(c)
	if c.Err() == nil {
		t.Error("no error")
	}
}

// TestARoomForNewReporters: at the limit, the half that has not reported for
// longest is forgotten and counted.
func TestARoomForNewReporters(t *testing.T) {
	var p PerStep
	for i := range maxReporters {
		e := telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprintf("old/%06d", i)}
		p.reporters = append(p.reporters, &reporter{entity: e, clocks: []clock{{at: []int64{int64(i)}, columns: []column{{metric: compute, value: []float32{1}}}}}})
	}
	fresh := rankSeries("new/0", compute)
	p.Observe(fresh, telemetry.Time(maxReporters), 2)
	if x, n := p.Median(fresh, 0, telemetry.Time(maxReporters)); n != 1 || x != 2 {
		t.Errorf("the new rank: %v of %d", x, n)
	}
	if p.Forgotten != maxReporters/2+1 || len(p.reporters) != maxReporters-int(p.Forgotten)+1 {
		t.Errorf("forgotten %d, kept %d", p.Forgotten, len(p.reporters))
	}
	if _, n := p.Median(rankSeries(fmt.Sprintf("old/%06d", maxReporters-1), compute), 0, telemetry.Time(maxReporters)); n != 1 {
		t.Error("the rank heard last was forgotten")
	}
	p.Observe(telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "old"}, Metric: "job_data_wait_seconds"}, 1e9, 1)
	p.Forget(telemetry.Entity{Kind: telemetry.Job, Name: "old"})
	if len(p.reporters) != 1 {
		t.Errorf("%d reporters left when their job is over", len(p.reporters))
	}
}
