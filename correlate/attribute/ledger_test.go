package attribute_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	minute = telemetry.Duration(60e9)
	hour   = telemetry.Duration(3600e9)
	day    = telemetry.Duration(86400e9)
)

// noon of 2026-11-21.
const noon = telemetry.Time(1795262400e9)

func entity(t testing.TB, s string) telemetry.Entity {
	t.Helper()
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func window(t testing.TB, length telemetry.Duration, now telemetry.Time) attribute.Window {
	t.Helper()
	w, err := attribute.Last(length, now)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func cause(t testing.TB, root, signature string, d telemetry.Domain) attribute.Cause {
	return attribute.Cause{Root: entity(t, root), Signature: signature, Domain: d}
}

// account is one whose loss grows evenly from one time to another, booked every
// minute.
func account(c attribute.Cause, from, to telemetry.Time, lost float64) *attribute.Account {
	a := &attribute.Account{Cause: c, MFU: 0.4}
	for at := from.Add(minute); at <= to; at = at.Add(minute) {
		a.Book(at, lost*float64(at-from)/float64(to-from), 1)
	}
	return a
}

// report is the ledger's report of all jobs in the day that ends at now.
func report(t testing.TB, l *attribute.Ledger, now telemetry.Time, open ...attribute.Open) attribute.Losses {
	t.Helper()
	return l.Losses(window(t, day, now), telemetry.Entity{}, open, &attribute.Usage{})
}

func equal(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestALossIsListedByJobCauseDomainAndDay: two causes degrade one job, one of them
// another job as well, across midnight.
func TestALossIsListedByJobCauseDomainAndDay(t *testing.T) {
	var l attribute.Ledger
	a, b := entity(t, "job:a"), entity(t, "job:b")
	nic, loop := cause(t, "nic:h1/nic0", "slow-receiver", telemetry.Network), cause(t, "loop:r1/a", "coolant-flow-loss", telemetry.Cooling)
	midnight := noon.Add(12 * hour)
	l.Close(a, account(nic, midnight.Add(-20*minute), midnight.Add(20*minute), 400), midnight.Add(20*minute))
	l.Close(b, account(nic, midnight.Add(-10*minute), midnight, 100), midnight.Add(20*minute))
	now := midnight.Add(2 * hour)
	r := report(t, &l, now, attribute.Open{Job: a, Account: account(loop, now.Add(-hour), now, 1000)})

	equal(t, "total", r.Lost, 1500)
	if len(r.Jobs) != 2 || r.Jobs[0].Job != a || len(r.Jobs[0].Causes) != 2 || r.Jobs[0].Causes[0].Signature != "coolant-flow-loss" {
		t.Fatalf("jobs: %+v", r.Jobs)
	}
	equal(t, "job a", r.Jobs[0].Lost, 1400)
	equal(t, "share of the loop", r.Jobs[0].Causes[0].Share, 1000.0/1400)
	equal(t, "share of the nic", r.Jobs[0].Causes[1].Share, 400.0/1400)
	if len(r.Causes) != 2 || r.Causes[1].Root != nic.Root || len(r.Causes[1].Jobs) != 2 {
		t.Fatalf("causes: %+v", r.Causes)
	}
	equal(t, "the nic", r.Causes[1].Lost, 500)
	equal(t, "network", r.Domains[2].Lost, 500)
	equal(t, "cooling", r.Domains[4].Lost, 1000)
	equal(t, "software", r.Domains[0].Lost, 0)
	if len(r.Days) != 2 || r.Days[0].Day != "2026-11-22" || r.Days[1].Day != "2026-11-21" {
		t.Fatalf("days: %+v", r.Days)
	}
	equal(t, "the first day", r.Days[1].Lost, 200+100)
	equal(t, "the second day", r.Days[0].Lost, 200+1000)

	ten := l.Losses(window(t, 20*minute, midnight.Add(10*minute)), a, nil, &attribute.Usage{})
	equal(t, "job a from ten to until ten past midnight", ten.Lost, 200)
}

// TestWhatIsLostIsTheSameHoweverItIsCut, over random accounts.
func TestWhatIsLostIsTheSameHoweverItIsCut(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var l attribute.Ledger
		var open []attribute.Open
		want := 0.0
		for k := range 40 {
			c := cause(t, fmt.Sprintf("gpu:n%d/0", rnd.IntN(5)), fmt.Sprintf("s%d", rnd.IntN(3)), telemetry.Domain(rnd.IntN(6)))
			from := noon.Add(-telemetry.Duration(1+rnd.IntN(600)) * minute)
			lost := rnd.Float64() * 1e6
			x := account(c, from, from.Add(telemetry.Duration(1+rnd.IntN(30))*minute), lost)
			want += lost
			if job := entity(t, fmt.Sprintf("job:j%d", rnd.IntN(8))); k%3 == 0 {
				open = append(open, attribute.Open{Job: job, Account: x})
			} else {
				l.Close(job, x, noon)
			}
		}
		r := report(t, &l, noon.Add(hour), open...)
		jobs, causes, domains, days, shares := 0.0, 0.0, r.Unknown.Lost, 0.0, 0.0
		for _, j := range r.Jobs {
			jobs += j.Lost
			of := 0.0
			for _, c := range j.Causes {
				of += c.Share
			}
			shares = max(shares, of)
		}
		for _, c := range r.Causes {
			causes += c.Lost
		}
		for _, d := range r.Domains {
			domains += d.Lost
		}
		for _, d := range r.Days {
			days += d.Lost
		}
		for what, got := range map[string]float64{"total": r.Lost, "jobs": jobs, "causes": causes, "domains": domains, "days": days} {
			equal(t, what, got, want)
		}
		if shares > 1+1e-9 {
			t.Fatalf("shares of one job add up to %v", shares)
		}
	}
}

// TestTwiceTheGPUsTwiceTheLoss, in every figure of the report.
func TestTwiceTheGPUsTwiceTheLoss(t *testing.T) {
	h := degradation(t, append(repeat(2, 20), repeat(5, 6)...)...)
	figures := func(gpus int) (out []float64) {
		var l attribute.Ledger
		a := &attribute.Account{Cause: cause(t, "nic:h1/nic0", "slow-receiver", telemetry.Network), MFU: 0.5}
		a.Book(noon, attribute.Of(h, gpus).GPUSeconds, 1)
		l.Close(train, a, noon)
		r := report(t, &l, noon)
		return append(out, r.Lost, r.Jobs[0].Lost, r.Causes[0].Lost, r.Domains[2].Lost, r.Days[0].Lost)
	}
	one, two := figures(4), figures(8)
	for i := range one {
		if one[i] <= 0 {
			t.Fatalf("figure %d: %v", i, one[i])
		}
		equal(t, fmt.Sprintf("figure %d", i), two[i], 2*one[i])
	}
}

// TestRemovingACauseNeverRaisesTheLoss, of anything.
func TestRemovingACauseNeverRaisesTheLoss(t *testing.T) {
	all := []attribute.Open{
		{Job: entity(t, "job:a"), Account: account(cause(t, "nic:h1/nic0", "slow-receiver", telemetry.Network), noon.Add(-hour), noon, 300)},
		{Job: entity(t, "job:a"), Account: account(cause(t, "gpu:h1/0", "gpu-slow", telemetry.Computing), noon.Add(-hour), noon, 200)},
		{Job: entity(t, "job:b"), Account: account(cause(t, "nic:h1/nic0", "slow-receiver", telemetry.Network), noon.Add(-hour), noon, 100)},
	}
	var l attribute.Ledger
	whole := report(t, &l, noon, all...)
	for i := range all {
		less := report(t, &l, noon, append(append([]attribute.Open{}, all[:i]...), all[i+1:]...)...)
		if !(less.Lost < whole.Lost) {
			t.Errorf("without %d: %v of %v", i, less.Lost, whole.Lost)
		}
		for d := range whole.Domains {
			if less.Domains[d].Lost > whole.Domains[d].Lost {
				t.Errorf("without %d, %v loses %v, before %v", i, whole.Domains[d].Domain, less.Domains[d].Lost, whole.Domains[d].Lost)
			}
		}
	}
}

// TestARevisedCauseTakesAllOfTheLossWithIt: a slow coolant unit answers late.
func TestARevisedCauseTakesAllOfTheLossWithIt(t *testing.T) {
	a := account(cause(t, "gpu:h1/0", "gpu-slow", telemetry.Computing), noon.Add(-hour), noon, 300)
	a.Cause = cause(t, "loop:r1/a", "coolant-flow-loss", telemetry.Cooling)
	a.Book(noon.Add(minute), 310, 1)
	var l attribute.Ledger
	r := report(t, &l, noon.Add(minute), attribute.Open{Job: train, Account: a})
	if len(r.Causes) != 1 {
		t.Fatalf("causes: %+v", r.Causes)
	}
	equal(t, "cooling", r.Domains[4].Lost, 310)
}

// TestACorrectionIsNotLostTwice: an overdue step ended sooner than its age was
// thought to be, over the end of a cell.
func TestACorrectionIsNotLostTwice(t *testing.T) {
	var l attribute.Ledger
	a := &attribute.Account{Cause: cause(t, "gpu:h1/0", "gpu-slow", telemetry.Computing), MFU: -1}
	a.Book(noon, 100, 1)
	a.Book(noon.Add(minute), 90, 1)
	a.Again()
	a.Book(noon.Add(2*minute), 5, 1)
	r := report(t, &l, noon.Add(2*minute), attribute.Open{Job: train, Account: a})
	equal(t, "lost", r.Lost, 95)
	if r.MFULost != nil {
		t.Errorf("MFU lost %v: none was reported", *r.MFULost)
	}
}

// TestTwoIncidentsShareWhatIsLostSinceBothAreKnown: the second begins to count
// when 100 GPU-seconds are lost already, with a quarter of what follows.
func TestTwoIncidentsShareWhatIsLostSinceBothAreKnown(t *testing.T) {
	one := &attribute.Account{Cause: cause(t, "gpu:h1/0", "cold-plate", telemetry.Cooling), MFU: -1}
	two := &attribute.Account{Cause: cause(t, "port:l/1", "ecmp-collision", telemetry.Network), MFU: -1}
	one.Book(noon, 100, 1)
	two.Start(100)
	for k := range 10 {
		at, lost := noon.Add(telemetry.Duration(k+1)*minute), 100+float64(k+1)*40
		one.Book(at, lost, 0.75)
		two.Book(at, lost, 0.25)
	}
	var l attribute.Ledger
	r := report(t, &l, noon.Add(hour), attribute.Open{Job: train, Account: one}, attribute.Open{Job: train, Account: two})
	equal(t, "the job", r.Jobs[0].Lost, 500)
	equal(t, "cooling", r.Domains[4].Lost, 100+300)
	equal(t, "network", r.Domains[2].Lost, 100)
	equal(t, "shares", r.Jobs[0].Causes[0].Share+r.Jobs[0].Causes[1].Share, 1)
}

// TestABenignChangeLosesNothing, however long it was taken for a fault.
func TestABenignChangeLosesNothing(t *testing.T) {
	var l attribute.Ledger
	a := account(cause(t, "job:train", "workload-change", telemetry.Software), noon.Add(-hour), noon, 300)
	a.Benign = true
	l.Close(train, a, noon)
	if r := report(t, &l, noon); r.Lost != 0 || len(r.Causes) != 0 {
		t.Errorf("lost %v by %+v", r.Lost, r.Causes)
	}
}

// TestMFULostIsThePartOfThePeak: a job of 10 GPUs at 40 % loses a quarter of an
// hour of all of them, of an hour: a tenth of its peak.
func TestMFULostIsThePartOfThePeak(t *testing.T) {
	var l attribute.Ledger
	var had attribute.Usage
	had.Add(train, noon.Add(-hour), noon, &attribute.Tally{Whole: 36000})
	l.Close(train, account(cause(t, "gpu:h1/0", "gpu-slow", telemetry.Computing), noon.Add(-hour), noon, 9000), noon)
	r := l.Losses(window(t, hour, noon), telemetry.Entity{}, nil, &had)
	for what, x := range map[string]*float64{"site": r.MFULost, "job": r.Jobs[0].MFULost, "cause": r.Causes[0].MFULost, "domain": r.Domains[1].MFULost, "day": r.Days[0].MFULost} {
		if x == nil {
			t.Fatalf("%s: not known", what)
		}
		equal(t, what, *x, 0.1)
	}
	equal(t, "available", *r.Available, 36000)
}

// TestTheLedgerIsBounded: of too many jobs only domains are kept apart, and
// nothing of the sum is lost; what is older than a month is forgotten.
func TestTheLedgerIsBounded(t *testing.T) {
	var l attribute.Ledger
	const n = 250
	for k := range n { // a row each ten minutes
		a := account(cause(t, "gpu:h1/0", "gpu-slow", telemetry.Computing), noon.Add(-20*hour), noon, 1)
		l.Close(entity(t, fmt.Sprintf("job:j%d", k)), a, noon)
	}
	r := report(t, &l, noon)
	equal(t, "total", r.Lost, n)
	equal(t, "computing", r.Domains[1].Lost, n)
	kept := 0.0
	for _, j := range r.Jobs {
		kept += j.Lost
	}
	if kept >= n || len(r.Jobs) == 0 {
		t.Errorf("%v of %d kept apart by job", kept, n)
	}
	a := &attribute.Account{Cause: cause(t, "gpu:h1/0", "gpu-slow", telemetry.Computing), MFU: -1}
	a.Book(noon.Add(40*day), 7, 1)
	l.Close(train, a, noon.Add(40*day))
	later := l.Losses(window(t, attribute.LongestWindow, noon.Add(40*day)), telemetry.Entity{}, nil, &attribute.Usage{})
	equal(t, "a month later", later.Lost, 7)
	if len(later.Days) != 1 {
		t.Errorf("%d days kept", len(later.Days))
	}
}

// TestTheLedgerSurvivesItsSnapshot, byte for byte.
func TestTheLedgerSurvivesItsSnapshot(t *testing.T) {
	var l, got attribute.Ledger
	x := account(cause(t, "nic:h1/nic0", "slow-receiver", telemetry.Network), noon.Add(-hour), noon, 300)
	x.Links = []attribute.Coupling{{From: telemetry.Network, To: telemetry.Software, Lag: 2}}
	l.Close(train, x, noon)
	open := account(cause(t, "gpu:h1/0", "gpu-slow", telemetry.Computing), noon.Add(-hour), noon, 200)
	w := snapshot.NewWriter()
	l.Snapshot(w)
	open.Snapshot(w)
	var again attribute.Account
	r := snapshot.NewReader(w.Data())
	got.Snapshot(r)
	again.Snapshot(r)
	if r.Err() != nil || r.Remaining() != 0 {
		t.Fatalf("%v, %d bytes left over", r.Err(), r.Remaining())
	}
	a, _ := json.Marshal(report(t, &l, noon, attribute.Open{Job: train, Account: open}))
	b, _ := json.Marshal(report(t, &got, noon, attribute.Open{Job: train, Account: &again}))
	if string(a) != string(b) {
		t.Errorf("restored: %s\nwant %s", b, a)
	}
	for cut := range w.Data() {
		r := snapshot.NewReader(w.Data()[:cut])
		new(attribute.Ledger).Snapshot(r)
		new(attribute.Account).Snapshot(r)
		if r.Err() == nil {
			t.Fatalf("%d of %d bytes were enough", cut, len(w.Data()))
		}
	}
}

// TestWindows: what lengths there are, and where they begin.
func TestWindows(t *testing.T) {
	for _, bad := range []telemetry.Duration{0, -hour, 31 * day} {
		if _, err := attribute.Last(bad, noon); err == nil {
			t.Errorf("a window of %v", bad)
		}
	}
	at := noon.Add(7 * minute)
	if w := window(t, hour, at); w.From() != noon.Add(-hour) || w.To() != at {
		t.Errorf("an hour at 12:07 is %v to %v", w.From(), w.To())
	}
	if w := window(t, 2*day, at); w.From() != noon.Add(-2*day-12*hour) {
		t.Errorf("two days at 12:07 begin %v", w.From())
	}
}
