package jobs_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// server is a simulated pool: its tokens take longer the more are asked for, and
// requests wait where more is asked than it can do.
type server struct {
	t           *testing.T
	b           jobs.Book
	r           *rand.Rand
	now         telemetry.Time
	changes     []string
	slow        float64 // of its machines; 1 in health
	grows       float64 // the power of the load by which the first token takes longer, if not zero
	degradation *jobs.Degradation
	mute        bool    // it reports no tokens
	noise       float64 // of a moment, which lasts for five seconds
	moment      float64
}

func newServer(t *testing.T, seed uint64) *server {
	return &server{t: t, r: rand.New(rand.NewPCG(seed, 5)), now: epoch, slow: 1}
}

// serve lets seconds go by at a load, 1 being all that it can do.
func (s *server) serve(seconds int, load func(second int) float64) {
	never := jobs.Senses{Working: notWorking}
	for n := range seconds {
		s.now = s.now.Add(1e9)
		asked := load(n) * (1 + 0.05*s.r.NormFloat64())
		done := min(asked, 1/s.slow)
		x := jobs.Served{Tokens: 5e4 * done, ITL: 0.02 * s.slow * (1 + done) * (1 + 0.03*s.r.NormFloat64()),
			TTFT: 0.3 * s.slow * (1 + done*done) * (1 + 0.05*s.r.NormFloat64()), Cache: 0.6 * done}
		if s.noise > 0 {
			if n%5 == 0 {
				s.moment = 1 + s.noise*s.r.NormFloat64()
			}
			x.ITL, x.TTFT = x.ITL*s.moment, x.TTFT*s.moment
		}
		if s.mute {
			x.Tokens = math.NaN()
		}
		if s.grows > 0 {
			x.TTFT = 0.5 * s.slow * math.Pow(done, s.grows) * (1 + 0.05*s.r.NormFloat64())
		}
		if asked > done {
			x.Queue, x.TTFT = 200*(asked-done), x.TTFT*10
		}
		s.b.ObserveServed(played, s.now, x)
		for _, c := range s.b.Close(s.now, never) {
			switch c.Change {
			case jobs.Began:
				h := *c.Job.Degradation
				s.degradation, s.changes = &h, append(s.changes, "slow")
			case jobs.Turned:
				s.changes = append(s.changes, "to "+c.Job.Degradation.State.String())
			case jobs.Ended:
				h := *c.Job.Degradation
				s.degradation, s.changes = &h, append(s.changes, "well")
				c.Job.Forget(false, 0)
			}
		}
	}
}

func constant(load float64) func(int) float64 { return func(int) float64 { return load } }

// day is a load that comes and goes within a few minutes.
func day(second int) float64 { return 0.5 + 0.3*math.Sin(float64(second)/120) }

// TestMoreLoadIsNoFault: a load that comes and goes for an hour, and then grows
// beyond all that was seen, as long as it is served.
func TestMoreLoadIsNoFault(t *testing.T) {
	for seed := range uint64(20) {
		s := newServer(t, seed)
		s.serve(3600, day)
		s.serve(300, constant(0.85))
		if len(s.changes) != 0 {
			t.Errorf("seed %d: %q", seed, s.changes)
		}
	}
}

// TestALittleMoreLoadThanEverIsNoFault: long at one load, then a tenth more of it,
// and the first token takes a tenth longer because requests wait for each other.
// Machines that are slower by a third are reported there, too.
func TestALittleMoreLoadThanEverIsNoFault(t *testing.T) {
	for seed := range uint64(20) {
		s := newServer(t, seed)
		s.grows = 1.9
		s.serve(1200, constant(0.7))
		s.serve(400, constant(0.77))
		if len(s.changes) != 0 {
			t.Errorf("seed %d: %q", seed, s.changes)
		}
		s.slow = 1.33
		s.serve(60, constant(0.74))
		if len(s.changes) == 0 || s.changes[len(s.changes)-1] != "slow" {
			t.Errorf("seed %d: slower machines: %q", seed, s.changes)
		}
	}
}

// TestMoreLoadThanItCanDoIsOverload: requests pile up within seconds, and the first token
// takes longer as well: two measures that agree twice are enough.
func TestMoreLoadThanItCanDoIsOverload(t *testing.T) {
	s := newServer(t, 1)
	s.serve(600, constant(0.6))
	s.serve(60, constant(1.5))
	if len(s.changes) != 1 || s.changes[0] != "slow" {
		t.Fatalf("%q", s.changes)
	}
	if d := float64(s.degradation.Opened-epoch)/1e9 - 600; d > 2*jobs.ServedEvery.Seconds() {
		t.Errorf("found after %v s", d)
	}
	if s.degradation.Measure != jobs.MeasureTTFT {
		t.Errorf("measure %v", s.degradation.Measure)
	}
	s.serve(120, constant(0.6))
	if len(s.changes) != 2 || s.changes[1] != "well" {
		t.Errorf("%q", s.changes)
	}
}

// TestSlowMachinesDegradeAtTheSameLoad: tokens that take a third longer for 100 s
// cost a quarter of them.
func TestSlowMachinesDegradeAtTheSameLoad(t *testing.T) {
	for seed := range uint64(20) {
		s := newServer(t, seed)
		s.serve(1800, day)
		s.slow = 1.33
		s.serve(100, constant(0.5))
		s.slow = 1
		s.serve(120, constant(0.5))
		if len(s.changes) != 2 || s.changes[0] != "slow" || s.changes[1] != "well" {
			t.Fatalf("seed %d: %q", seed, s.changes)
		}
		if h := s.degradation; math.Abs(h.Lost-25) > 5 {
			t.Errorf("seed %d: lost %v s of 100, want about 25", seed, h.Lost)
		}
		now, _ := s.degradation.Now()
		if ratio := now / s.degradation.Expected; math.Abs(ratio-1.33) > 0.1 {
			t.Errorf("seed %d: %v times as long", seed, ratio)
		}
	}
}

// TestAServerThatFailedIsWellWhenItAnswersAgain.
func TestAServerThatFailedIsWellWhenItAnswersAgain(t *testing.T) {
	s := newServer(t, 3)
	s.serve(300, constant(0.5))
	s.b.Event(&telemetry.Event{Entity: played, At: s.now, Name: telemetry.EventJobFailed}, s.now)
	s.now = s.now.Add(60e9)
	s.serve(30, constant(0.5))
	if len(s.changes) != 1 || s.changes[0] != "well" {
		t.Errorf("%q", s.changes)
	}
	if s.degradation != nil && s.degradation.Lost < 55 {
		t.Errorf("lost %v s, want about a minute", s.degradation.Lost)
	}
}

// TestALoadThatIsNotReportedMayBeTheReason: without its tokens it is not known whether a
// job that takes an eighth longer serves more.
func TestALoadThatIsNotReportedMayBeTheReason(t *testing.T) {
	s := newServer(t, 1)
	s.mute, s.noise = true, 0.1
	s.serve(900, constant(0.5))
	s.slow = 1.12
	s.serve(600, constant(0.5))
	if len(s.changes) != 0 {
		t.Errorf("%q", s.changes)
	}
}

// TestALatencyThatIsNoisyIsJudgedOverTime: a moment's first token takes a tenth longer
// or less by chance, so that none is slow for certain; a seventh in the mean is, and
// nothing is while it is as usual for an hour.
func TestALatencyThatIsNoisyIsJudgedOverTime(t *testing.T) {
	for seed := range uint64(10) {
		s := newServer(t, seed)
		s.noise = 0.1
		s.serve(3600, constant(0.5))
		if len(s.changes) != 0 {
			t.Errorf("seed %d: %q in health", seed, s.changes)
		}
		s.slow = 1.15
		s.serve(300, constant(0.5))
		if len(s.changes) == 0 || s.changes[0] != "slow" {
			t.Errorf("seed %d: %q of a job that is 15 %% slower", seed, s.changes)
			continue
		}
		s.slow = 1
		s.serve(600, constant(0.5))
		if last := s.changes[len(s.changes)-1]; last != "well" {
			t.Errorf("seed %d: %q after it was mended", seed, s.changes)
		}
	}
}
