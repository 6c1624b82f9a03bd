package score

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestADegradationBeginsWithTheFirstStepThatIsTwoPercentLonger(t *testing.T) {
	c := run()
	f := &c.Truth.Faults[0]
	s := c.stepsOf(f)
	if got := s.degradedSince(f); got != 100*second {
		t.Errorf("got %v s, want the onset: the first step of the fault is slow", got.Seconds())
	}
	// Two usual steps first: the degradation begins with the third, at 108 s.
	c.Steps = c.Steps[:25]
	train := entity("job:train")
	c.Steps = append(c.Steps, Step{train, 104 * second, 4}, Step{train, 108 * second, 4.05}, Step{train, 113 * second, 5})
	s = c.stepsOf(f)
	if got := s.degradedSince(f); got != 108*second {
		t.Errorf("got %v s, want 108", got.Seconds())
	}
	f.Degraded = 103 * second
	if got := s.degradedSince(f); got != 103*second {
		t.Errorf("got %v s, want what the label says", got.Seconds())
	}
}

// A hung job finishes no step: a third of its long step has passed, but five
// usual ones.
func TestAHangCountsInUsualSteps(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 120, root: "node:h1"})
	c.Steps = append(c.Steps[:25:25], Step{entity("job:train"), 160 * second, 60})
	v := judged1(t, c)
	if !near(*v.StepsToDetect, 20.0/60) || !near(*v.UsualStepsToDetect, 5) {
		t.Errorf("got %v and %v, want 0.333 and 5", *v.StepsToDetect, *v.UsualStepsToDetect)
	}
	// It died: no step ever ends, so time counts in usual steps.
	c.Steps = c.Steps[:25]
	v = judged1(t, c)
	if !near(*v.StepsToDetect, 5) || !near(*v.TimeToDetect, 20) {
		t.Errorf("got %v steps and %v s, want 5 and 20", *v.StepsToDetect, *v.TimeToDetect)
	}
}

func TestWithoutStepsThereIsNoLoss(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 120, root: "node:h1", now: 8, expected: 4})
	c.Steps = nil
	v := judged1(t, c)
	if v.Loss != nil || v.LossError != nil || v.StepsToDetect != nil || v.TimeToDetect == nil {
		t.Errorf("got %+v", v)
	}
}

func TestLossWithoutALabelIsMeasured(t *testing.T) {
	c := run()
	c.Truth.Faults[0].Slowdown = 0
	if v := judged1(t, c); v.Loss == nil || !near(*v.Loss, 4) {
		t.Errorf("got %v, want 4", number(v.Loss, 3))
	}
}

func TestHealthyTime(t *testing.T) {
	c := run()
	if got := c.healthy(); got != 400-160 {
		t.Errorf("got %v s, want 240", got)
	}
	overlapping := c.Truth.Faults[0]
	overlapping.Onset, overlapping.End = 150*second, 0 // to the end of the recording
	c.Truth.Faults = append(c.Truth.Faults, overlapping)
	if got := c.healthy(); got != 100 {
		t.Errorf("got %v s, want 100", got)
	}
	c.Truth.Faults = c.Truth.Faults[:1]
	c.Truth.Faults[0].Expect = ExpectBenign
	if got := c.healthy(); got != 400 {
		t.Errorf("a benign change: got %v s, want all 400", got)
	}
	c.Truth.Faults = nil
	if got := c.healthy(); got != 400 {
		t.Errorf("got %v s, want all 400", got)
	}
}

func TestFabric(t *testing.T) {
	link := telemetry.Edge{From: entity("nic:h0/nic0"), To: entity("port:leaf0/p1"), Relation: telemetry.Connects,
		Attrs: []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: "100000000000"}}}
	up := telemetry.Edge{From: entity("port:leaf0/p2"), To: entity("port:spine0/p1"), Relation: telemetry.Connects,
		Attrs: []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: "3e11"}}}
	if got, want := Fabric([]telemetry.Edge{link, up}), "2 switches, 1 nodes, 100G/300G"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestContainmentLoopsEnd(t *testing.T) {
	edges := []telemetry.Edge{
		{From: entity("rack:a"), To: entity("row:b"), Relation: telemetry.Contains},
		{From: entity("row:b"), To: entity("rack:a"), Relation: telemetry.Contains},
	}
	n := neighbours(edges, entities("job:train"), telemetry.Interval{Latest: second})
	if n.has(entity("rack:a")) {
		t.Error("a loop of racks is no victim")
	}
}

// A job that moved away before the fault leaves no victims behind.
func TestPlacementsEnd(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 120, root: "node:h2"})
	c.Edges[1].End = 90 * second
	if judged1(t, c).VictimAsRoot {
		t.Error("node:h2 had ceased to run the job")
	}
}
