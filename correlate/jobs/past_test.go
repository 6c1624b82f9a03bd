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

// naiveQuantile interpolates between the order statistics, as numpy's default.
func naiveQuantile(xs []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	at := q * float64(len(s)-1)
	lo, hi := math.Floor(at), math.Ceil(at)
	return s[int(lo)]*(1-(at-lo)) + s[int(hi)]*(at-lo)
}

func naiveUsual(all []float64) usual {
	xs := all[max(0, len(all)-pastSteps):]
	u := usual{n: len(xs), median: naiveQuantile(xs, 0.5), longest: slices.Max(xs)}
	var dev []float64
	var body []float64
	for _, x := range xs {
		if x <= (1+longStep)*u.median {
			body = append(body, x)
		}
	}
	if (len(xs)-len(body))*fewLongs > len(xs) {
		body = xs
	}
	for _, x := range body {
		u.mean += x / float64(len(body))
	}
	for _, x := range xs {
		dev = append(dev, math.Abs(x-u.median))
	}
	mad := max(1.4826*naiveQuantile(dev, 0.5), 0.01*u.median)
	var few []float64 // without the long steps, where they are at most a quarter
	for _, x := range xs {
		if x-u.median <= max(0.15*u.median, 6*mad) {
			few = append(few, x)
		}
	}
	row, most := 0, 0
	for _, x := range xs {
		if row++; x-u.median <= max(0.15*u.median, 6*mad) {
			row = 0
		}
		most = max(most, row)
	}
	if 4*(len(xs)-len(few)) <= len(xs) && most <= 2 {
		xs = few
	}
	u.spread = max(spreadFloor*u.median, 1.4826*naiveQuantile(dev, 0.5), naiveQuantile(xs, 0.9)-u.median, (naiveQuantile(xs, 0.95)-u.median)/1.5)
	u.spread *= map[bool]float64{true: 1 + 2*float64(8-max(u.n, 5))/3, false: 1}[u.n < 8] // five steps may vary three times as much as they do
	return u
}

func close64(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

func TestUsualAgreesWithTheNaiveOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var p past
		var all []float64
		for range 1 + r.IntN(2*pastSteps) {
			x := 3 + r.NormFloat64()*0.1
			if r.IntN(8) == 0 {
				x *= 1 + 2*r.Float64()
			}
			p.add(x)
			all = append(all, x)
		}
		got, want := p.usual(), naiveUsual(all)
		if got.n != want.n || !close64(got.median, want.median) || !close64(got.mean, want.mean) ||
			!close64(got.spread, want.spread) || got.longest != want.longest {
			t.Fatalf("of %v: got %+v, want %+v", all, got, want)
		}
		last := all[max(0, len(all)-beforeSteps):]
		if before := p.before(); !close64(before, naiveQuantile(last, 0.5)) {
			t.Fatalf("before of %v: got %v", last, before)
		}
	}
}

func TestThePastIsTheLastSixtyFourSteps(t *testing.T) {
	var p past
	for x := range 100 {
		p.add(float64(x + 1))
	}
	if u := p.usual(); u.n != 64 || u.mean != 68.5 || p.before() != 90.5 {
		t.Errorf("mean %v of %d, before %v; want that of 37 to 100, and of 81 to 100", u.mean, u.n, p.before())
	}
}

func TestUsualLeavesThePastAsItIs(t *testing.T) {
	p := past{lengths: []float64{3, 1, 2}}
	p.usual()
	p.before()
	if !slices.Equal(p.lengths, []float64{3, 1, 2}) {
		t.Errorf("got %v", p.lengths)
	}
}

func TestAStateThatIsNoneIsRefused(t *testing.T) {
	b := Book{jobs: []*Job{{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "j"}, Degradation: &Degradation{State: 200}}}}
	w := snapshot.NewWriter()
	b.Snapshot(w)
	c := snapshot.NewReader(w.Data())
	new(Book).Snapshot(c)
	if c.Err() == nil {
		t.Error("no error")
	}
}

// TestARoomForNewJobs: the same of jobs; a degraded one is never forgotten.
func TestARoomForNewJobs(t *testing.T) {
	var b Book
	for i := range MaxJobs {
		b.jobs = append(b.jobs, &Job{Entity: telemetry.Entity{Kind: telemetry.Job, Name: fmt.Sprintf("%06d", i)}, LastEnd: telemetry.Time(i)})
	}
	b.jobs[0].Degradation = &Degradation{State: Slow}
	fresh := telemetry.Entity{Kind: telemetry.Job, Name: "new"}
	b.Observe(fresh, telemetry.Time(MaxJobs), 1, 0)
	if b.Job(fresh) == nil || b.Job(telemetry.Entity{Kind: telemetry.Job, Name: "000000"}) == nil || b.Forgotten == 0 || b.Refused != 0 {
		t.Errorf("forgotten %d, refused %d", b.Forgotten, b.Refused)
	}
}
