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
	for _, x := range xs {
		u.mean += x / float64(len(xs))
		dev = append(dev, math.Abs(x-u.median))
	}
	u.spread = max(spreadFloor*u.median, 1.4826*naiveQuantile(dev, 0.5), naiveQuantile(xs, 0.9)-u.median, (naiveQuantile(xs, 0.95)-u.median)/1.5)
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

// naiveMedian keeps every sample of every rank.
type naiveRanks map[telemetry.Entity][]pending

func (n naiveRanks) median(e telemetry.Entity, from, to telemetry.Time) (float64, int) {
	kept := n[e][max(0, len(n[e])-rankSteps):]
	var in []float64
	for _, s := range kept {
		if s.at > from && s.at <= to {
			in = append(in, s.length)
		}
	}
	if len(in) == 0 {
		return 0, 0
	}
	return naiveQuantile(in, 0.5), len(in)
}

func TestRanksMedianAgreesWithTheNaiveOne(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var ranks Ranks
	naive := naiveRanks{}
	names := []string{"j/2", "j/0", "j/10", "j/1"}
	for step := range 400 {
		e := telemetry.Entity{Kind: telemetry.Rank, Name: names[r.IntN(len(names))]}
		at, x := telemetry.Time(10*(step+1)), 1+r.Float64()
		ranks.Observe(e, at, x)
		ranks.Observe(e, at, 99) // a repeat is ignored
		naive[e] = append(naive[e], pending{at, x, 1})
		from := telemetry.Time(r.IntN(4000))
		to := from + telemetry.Time(r.IntN(4000))
		got, n := ranks.Median(e, from, to)
		want, k := naive.median(e, from, to)
		if n != k || !close64(got, want) {
			t.Fatalf("median of %v in (%d, %d]: got %v of %d, want %v of %d", e, from, to, got, n, want, k)
		}
		if step%50 == 0 {
			ranks = againRanks(t, &ranks)
		}
	}
	if _, n := ranks.Median(telemetry.Entity{Kind: telemetry.Rank, Name: "j/7"}, 0, 1e9); n != 0 {
		t.Errorf("a rank never heard of has %d steps", n)
	}
}

func TestARankIsKnownByItsLastSteps(t *testing.T) {
	var r Ranks
	e := telemetry.Entity{Kind: telemetry.Rank, Name: "j/0"}
	for x := range 200 {
		r.Observe(e, telemetry.Time(x+1), float64(x+1))
	}
	if m, n := r.Median(e, 0, 1000); n != 128 || m != 136.5 {
		t.Errorf("median %v of %d, want that of 73 to 200", m, n)
	}
}

func againRanks(t *testing.T, r *Ranks) Ranks {
	t.Helper()
	w := snapshot.NewWriter()
	r.Snapshot(w)
	c := snapshot.NewReader(w.Data())
	var out Ranks
	out.Snapshot(c)
	if c.Err() != nil || c.Remaining() != 0 {
		t.Fatalf("restore: %v, %d bytes left", c.Err(), c.Remaining())
	}
	return out
}

func FuzzRanksSnapshot(f *testing.F) {
	var r Ranks
	for i := range 5 {
		r.Observe(telemetry.Entity{Kind: telemetry.Rank, Name: "j/1"}, telemetry.Time(i+1), 0.5)
	}
	w := snapshot.NewWriter()
	r.Snapshot(w)
	f.Add(w.Data())
	f.Fuzz(func(t *testing.T, data []byte) {
		c := snapshot.NewReader(data)
		var r Ranks
		r.Snapshot(c)
		if c.Err() != nil {
			return
		}
		for _, k := range r.ranks {
			if len(k.at) != len(k.length) {
			}
			r.Median(k.entity, 0, math.MaxInt64)
			r.Observe(k.entity, math.MaxInt64, 1)
		}
	})
}

func TestRanksOfUnequalListsAreRefused(t *testing.T) {
	r := Ranks{ranks: []rank{{entity: telemetry.Entity{Kind: telemetry.Rank, Name: "j/1"}, at: []int64{1}}}}
	w := snapshot.NewWriter()
	r.Snapshot(w)
	c := snapshot.NewReader(w.Data())
	new(Ranks).Snapshot(c)
	if c.Err() == nil {
		t.Error("no error")
	}
}

func TestAStateThatIsNoneIsRefused(t *testing.T) {
	b := Book{jobs: []*Job{{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "j"}, Hurt: &Hurt{State: 200}}}}
	w := snapshot.NewWriter()
	b.Snapshot(w)
	c := snapshot.NewReader(w.Data())
	new(Book).Snapshot(c)
	if c.Err() == nil {
		t.Error("no error")
	}
}

// TestARoomForNewRanks: a full house forgets the half that has been silent
// longest, and says how many.
func TestARoomForNewRanks(t *testing.T) {
	var r Ranks
	for i := range maxRanks {
		r.ranks = append(r.ranks, rank{entity: telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprintf("old/%06d", i)}, at: []int64{int64(i)}, length: []float64{1}})
	}
	fresh := telemetry.Entity{Kind: telemetry.Rank, Name: "new/0"}
	r.Observe(fresh, telemetry.Time(maxRanks), 2)
	if x, n := r.Median(fresh, 0, telemetry.Time(maxRanks)); n != 1 || x != 2 {
		t.Errorf("the new rank: %v of %d", x, n)
	}
	if r.Forgotten != maxRanks/2+1 || len(r.ranks) != maxRanks-int(r.Forgotten)+1 {
		t.Errorf("forgotten %d, kept %d", r.Forgotten, len(r.ranks))
	}
	last := telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprintf("old/%06d", maxRanks-1)}
	if _, n := r.Median(last, 0, telemetry.Time(maxRanks)); n != 1 {
		t.Error("the rank heard last was forgotten")
	}
	r.Forget(telemetry.Entity{Kind: telemetry.Job, Name: "old"})
	if len(r.ranks) != 1 {
		t.Errorf("%d ranks left when their job is over", len(r.ranks))
	}
}

// TestARoomForNewJobs: the same of jobs; one that hurts is never forgotten.
func TestARoomForNewJobs(t *testing.T) {
	var b Book
	for i := range MaxJobs {
		b.jobs = append(b.jobs, &Job{Entity: telemetry.Entity{Kind: telemetry.Job, Name: fmt.Sprintf("%06d", i)}, LastEnd: telemetry.Time(i)})
	}
	b.jobs[0].Hurt = &Hurt{State: Slow}
	fresh := telemetry.Entity{Kind: telemetry.Job, Name: "new"}
	b.Observe(fresh, telemetry.Time(MaxJobs), 1, 0)
	if b.Job(fresh) == nil || b.Job(telemetry.Entity{Kind: telemetry.Job, Name: "000000"}) == nil || b.Forgotten == 0 || b.Refused != 0 {
		t.Errorf("forgotten %d, refused %d", b.Forgotten, b.Refused)
	}
}
