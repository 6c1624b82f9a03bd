package correlate_test

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/world"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// truth is what a simulated job did, in seconds over its steps.
type truth struct {
	steps, seconds, compute, wait, transfer, checkpoint, achieved float64
}

func (u *truth) add(x *state.Step) {
	u.steps, u.seconds, u.checkpoint, u.achieved = u.steps+1, u.seconds+x.Seconds, u.checkpoint+x.Checkpoint, u.achieved+x.MFU*x.Seconds
	n := float64(len(x.Compute))
	for r := range x.Compute {
		u.compute, u.wait, u.transfer = u.compute+float64(x.Compute[r])/n, u.wait+float64(x.Wait[r])/n, u.transfer+float64(x.Transfer[r])/n
	}
}

// simulated plays so many seconds of a simulated site of 64 GPUs into an engine,
// measured as imperfectly as in the field, and returns the truth of its first
// job before and from second `from` on.
func simulated(t *testing.T, seconds, from int, change func(*condition.Set)) (e *correlate.Engine, before, since truth) {
	t.Helper()
	w, err := world.New(world.Standard(64, 5))
	if err != nil {
		t.Fatal(err)
	}
	m, err := measure.New(w.Site(), cases.Measured(w.Jobs()), measure.Config{Seed: 5, Start: cases.Start, Imperfect: true})
	if err != nil {
		t.Fatal(err)
	}
	e = standard(t)
	emit := func(r *telemetry.Record) error { e.Step(r); return nil }
	if err := m.Start(emit); err != nil {
		t.Fatal(err)
	}
	c := condition.New(w.Site(), len(w.Jobs()))
	for s := range seconds {
		if s == from && change != nil {
			change(c)
		}
		st := w.Step(c)
		for i := range st.Jobs[0].Steps {
			if s < from {
				before.add(&st.Jobs[0].Steps[i])
			} else {
				since.add(&st.Jobs[0].Steps[i])
			}
		}
		if err := m.Observe(st, emit); err != nil {
			t.Fatal(err)
		}
		tick := telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: cases.Start.Add(telemetry.Duration(s+1) * 1e9)}}
		if err := emit(&tick); err != nil {
			t.Fatal(err)
		}
	}
	return e, before, since
}

// TestTheBudgetOfASimulatedJob: the shares that the engine reports are those of the
// simulation, within a hundredth of the whole.
func TestTheBudgetOfASimulatedJob(t *testing.T) {
	e, u, _ := simulated(t, 600, 600, nil)
	all := budgetsOf(t, e, 24*hour)
	b := &all.Jobs[0]
	got := shares(t, b)
	for part, want := range map[string]float64{"restarts": 0, "checkpoint": u.checkpoint / u.seconds, "stragglers": u.wait / u.seconds, "communication": u.transfer / u.seconds,
		"heat": 0, "power": 0, "achieved": u.achieved / u.seconds} {
		if x, ok := got[part]; !ok || math.Abs(x-want) > 0.01 {
			t.Errorf("%s: %.4f of the whole, want %.4f", part, x, want)
		}
	}
	compute := got["achieved"] + got["clock"] + got["memory"] + got["compute"]
	if math.Abs(compute-u.compute/u.seconds) > 0.01 {
		t.Errorf("computing: %.4f of the whole, want %.4f", compute, u.compute/u.seconds)
	}
	if math.Abs(*b.Step-u.seconds/u.steps) > 0.02*u.seconds/u.steps {
		t.Errorf("step %v, want %v", *b.Step, u.seconds/u.steps)
	}
}

// TestWhatALostFlowCosts: a rack's coolant nearly stops, its GPUs throttle and the
// whole job waits. The budget, the ledger and the matrix agree with the simulation
// on what that costs, and that it is heat.
func TestWhatALostFlowCosts(t *testing.T) {
	e, u, hot := simulated(t, 640, 400, func(c *condition.Set) { c.Loops[0].Flow = 0.06 })
	losses, err := e.Losses(24*hour, telemetry.Entity{})
	if err != nil {
		t.Fatal(err)
	}
	all := budgetsOf(t, e, 24*hour)
	b := &all.Jobs[0]
	shares(t, b)
	gpus := b.Whole / (u.seconds + hot.seconds)
	want := gpus * (hot.seconds - hot.steps*u.seconds/u.steps)
	if len(losses.Causes) != 1 || losses.Causes[0].Signature != "coolant-flow-loss" {
		t.Fatalf("causes: %+v", losses.Causes)
	}
	for _, j := range losses.Jobs {
		if j.Job == *b.Job && math.Abs(j.Lost-want) > 0.1*want {
			t.Errorf("the ledger says %.0f GPU-seconds, want %.0f", j.Lost, want)
		}
	}
	for _, p := range b.Parts {
		if p.Part == attribute.Heat.String() && math.Abs(*p.GPUSeconds-want) > 0.1*want {
			t.Errorf("heat took %.0f GPU-seconds, want %.0f", *p.GPUSeconds, want)
		}
	}
	m, err := e.Coupling(24 * hour)
	if err != nil {
		t.Fatal(err)
	}
	const software, cooling = 0, 4
	left, came := 0.0, 0.0
	for d := range m.Domains {
		if d != cooling {
			left += m.Coupling[cooling][d]
		}
		if d != software {
			came += m.Coupling[d][software]
		}
	}
	near(t, "what left cooling", left, losses.Lost)
	near(t, "what came to software", came, losses.Lost)
}

// lastTold plays a case and returns the last published revision of each incident.
func lastTold(t *testing.T, c cases.Case) map[string]explain.Incident {
	t.Helper()
	var log, said bytes.Buffer
	if err := cases.WriteTrace(t.Context(), c, cases.Recorded{Trace: &log, Truth: &said, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(bytes.NewReader(log.Bytes()), int64(log.Len()))
	if err != nil {
		t.Fatal(err)
	}
	e := standard(t)
	told := map[string]explain.Incident{}
	for {
		_, record, err := r.Next()
		if err == io.EOF {
			return told
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range e.Step(record).Incidents {
			told[in.ID] = in
		}
	}
}

// TestWhoFloodsAndWhoWaitsAreOneIncident: a job that sends more than before waits
// at the links that it floods like the job with which it shares them. Whichever of
// the two is found slow first, and whatever that is attributed to until more is
// known, one incident is published.
func TestWhoFloodsAndWhoWaitsAreOneIncident(t *testing.T) {
	c := cases.Case{Class: "noisy-neighbour", Severity: cases.Loud, GPUs: 64, Seed: 1}
	told := lastTold(t, c)
	if len(told) != 1 {
		t.Errorf("%d incidents were told", len(told))
	}
	for _, in := range told {
		if in.Root.Signature != c.Class || in.Root.Entity != (telemetry.Entity{Kind: telemetry.Job, Name: "train-b"}) || len(in.Impact.Jobs) != 2 {
			t.Errorf("%s at %s, %d jobs", in.Root.Signature, in.Root.Entity, len(in.Impact.Jobs))
		}
	}
}

// TestAGPUThatIsSlowOfItselfBehindAFailingLoop: less coolant flows, and within a
// minute of that one GPU of the same job becomes slower by itself. Each is
// published as an incident of its own, whichever has an effect first and wherever
// the GPU is.
func TestAGPUThatIsSlowOfItselfBehindAFailingLoop(t *testing.T) {
	for _, c := range []struct {
		name      string
		seed      uint64
		loop, gpu telemetry.Entity
	}{
		{"the GPU is felt first", 7, telemetry.Entity{Kind: telemetry.CDU, Name: "cdu00"}, telemetry.Entity{Kind: telemetry.GPU, Name: "n0001/3"}},
		{"the coolant is felt first, of a pump", 3, telemetry.Entity{Kind: telemetry.Pump, Name: "cdu00/1"}, telemetry.Entity{Kind: telemetry.GPU, Name: "n0004/7"}},
		{"both are when the job is judged, the GPU by another loop", 5, telemetry.Entity{Kind: telemetry.Loop, Name: "r001"}, telemetry.Entity{Kind: telemetry.GPU, Name: "n0000/0"}},
	} {
		roots := map[telemetry.Entity]string{}
		for _, in := range lastTold(t, cases.Case{Class: "coolant-flow-loss", Second: "gpu-slow", Severity: cases.Loud, GPUs: 64, Seed: c.seed}) {
			if in.MergedInto == nil && in.Kind == explain.KindIncident {
				roots[in.Root.Entity] += in.Root.Signature
			}
		}
		if len(roots) != 2 || roots[c.loop] != "coolant-flow-loss" || roots[c.gpu] != "gpu-slow" {
			t.Errorf("%s: told of %v, want %s and %s", c.name, roots, c.loop, c.gpu)
		}
	}
}
