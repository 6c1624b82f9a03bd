package cases

import (
	"sync"

	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// history is what became of the jobs of a run, to be compared with another's.
type history struct {
	seconds int
	jobs    []track
}

// track is one job's.
type track struct {
	entity telemetry.Entity
	gpus   int
	every  int // steps to a report; 0 is 1
	steps  []step
	served []served // by second, of a serving job
	// failed is when it failed first, in seconds; 0 it did not.
	failed float64
}

type step struct {
	number       int
	end, seconds float64
	evaluates    bool
}

type served struct{ ttft, itl float32 }

func newHistory(a *act) *history {
	h := &history{}
	for _, j := range a.world.Jobs() {
		t := track{entity: entity(j), gpus: j.Ranks}
		if j.Training != nil {
			t.every = j.Training.Every
		}
		h.jobs = append(h.jobs, t)
	}
	return h
}

// add takes the second that has just passed.
func (h *history) add(st *state.State) {
	h.seconds = st.Second
	for i := range h.jobs {
		j, t := &st.Jobs[i], &h.jobs[i]
		for k := range j.Steps {
			s := &j.Steps[k]
			t.steps = append(t.steps, step{s.Number, s.End, s.Seconds, s.Evaluates})
		}
		if j.Serving.ITL50 > 0 || len(t.served) > 0 {
			t.served = append(t.served, served{float32(j.Serving.TTFT50), float32(j.Serving.ITL50)})
		}
	}
	for i := range st.Events {
		e := &st.Events[i]
		if telemetry.EventName(e.Name) != telemetry.EventJobFailed {
			continue
		}
		for k := range h.jobs {
			if h.jobs[k].entity == e.Entity && h.jobs[k].failed == 0 {
				h.jobs[k].failed = e.At
			}
		}
	}
}

// healthy is the run of a stage without a fault: the counterfactual of every
// case on it. It is played once, as far as anyone asks.
type healthy struct {
	mu      sync.Mutex
	act     *act
	history *history
	sent    []float64 // bytes by link, of the first sentOver seconds
}

const sentOver = 40

// until returns the run up to a second and what links carry in health.
func (h *healthy) until(s stage, seconds int) (history, []float64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.act == nil {
		a, err := s.begin()
		if err != nil {
			return history{}, nil, err
		}
		h.act, h.history = a, newHistory(a)
	}
	for h.history.seconds < max(seconds, sentOver) {
		st := h.act.step()
		h.history.add(st)
		if st.Second == sentOver {
			for i := range st.Links {
				h.sent = append(h.sent, st.Links[i].SentTotal)
			}
		}
	}
	out := *h.history
	out.jobs = append([]track(nil), out.jobs...)
	return out, h.sent, nil
}

// shelf keeps the healthy runs that were asked for last.
type shelf struct {
	mu    sync.Mutex
	runs  map[stage]*healthy
	order []stage
	most  int
}

func (s *shelf) of(st stage) *healthy {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.runs[st]; h != nil {
		return h
	}
	if s.runs == nil {
		s.runs = map[stage]*healthy{}
	}
	if len(s.order) >= max(1, s.most) {
		delete(s.runs, s.order[0])
		s.order = s.order[1:]
	}
	h := &healthy{}
	s.runs[st], s.order = h, append(s.order, st)
	return h
}
