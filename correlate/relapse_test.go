package correlate

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestARelapseThatIsAnotherFaultDeparts: a degradation that opened an incident again, and
// whose answers hold nothing at the place of that incident's root, becomes an incident of
// its own: at once where another root is sure, else when all could have been seen. The one
// before is resolved with the root that it had.
func TestARelapseThatIsAnotherFaultDeparts(t *testing.T) {
	node := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }
	catalogue := map[string]*explain.Signature{"cap": {Name: "cap", Domain: telemetry.Power}, "jitter": {Name: "jitter", Domain: telemetry.Software}, "": nil}
	answer := func(where, signature string, confidence float64) explain.Answer {
		return explain.Answer{Entity: node(where), Signature: catalogue[signature], Confidence: confidence}
	}
	elsewhere := []explain.Answer{answer("b", "jitter", .84), answer("c", "", .16)}
	unsure := []explain.Answer{answer("b", "", .3), answer("c", "jitter", .3), answer("d", "jitter", .1)}
	there := []explain.Answer{answer("b", "jitter", .84), answer("a", "", .1)}
	for name, c := range map[string]struct {
		was     float64 // sure of node a
		answers []explain.Answer
		age     telemetry.Duration
		want    bool
	}{
		"sure of another place":            {1, elsewhere, 0, true},
		"sure of none yet":                 {1, unsure, 0, false},
		"sure of none when all was seen":   {1, unsure, investigateFor, true},
		"the first was not sure":           {.8, elsewhere, investigateFor, false},
		"it may still be the same":         {1, there, investigateFor, false},
		"the same place with another name": {1, []explain.Answer{answer("a", "jitter", .84)}, investigateFor, false},
	} {
		for _, reopened := range []bool{false, true} {
			e, err := New(Config{Site: "s"})
			if err != nil {
				t.Fatal(err)
			}
			now := explain.Incident{ID: "inc-1", State: explain.StateOpen, Revision: 4, Root: explain.Root{Entity: node("a"), Domain: telemetry.Power, Signature: "cap", Confidence: c.was}}
			x := &incidentCase{job: telemetry.Entity{Kind: telemetry.Job, Name: "j"}, published: now, incident: now}
			if reopened {
				x.former, x.incident.Reopens = now, 1
				x.former.State, x.former.Revision, x.former.Title = explain.StateResolved, 3, "as it was"
			}
			want := c.want && reopened // one that was never resolved corrects its root
			if got := e.incidents.elsewhere(x, &explain.Evidence{Answers: c.answers}, c.age); got != want {
				t.Errorf("%s, reopened %v: %v", name, reopened, got)
			}
			if !want {
				continue
			}
			e.incidents.depart(x, &c.answers[0], 500e9)
			last := e.incidents.out.Incidents
			if len(last) != 1 || last[0].ID != "inc-1" || last[0].State != explain.StateResolved || last[0].Revision != 5 || last[0].Title != "as it was" {
				t.Errorf("the one before: %+v", last)
			}
			if in := &x.incident; in.ID == "inc-1" || in.SplitFrom == nil || *in.SplitFrom != "inc-1" || in.Reopens != 0 || x.published.Revision != 0 || x.naming.named() {
				t.Errorf("its own: %+v", in)
			}
			if e.incidents.elsewhere(x, &explain.Evidence{Answers: c.answers}, c.age) {
				t.Error("it departs again")
			}
		}
	}
}

// TestTroublesThatComeByTurns: a relapse that departs to a root of which an earlier incident of
// its job was sure opens that one again, and the one that it leaves can be opened again, too.
func TestTroublesThatComeByTurns(t *testing.T) {
	node := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }
	jitter := &explain.Signature{Name: "jitter", Domain: telemetry.Software}
	at := telemetry.Time(400e9)
	resolved := func(id, where, signature string) explain.Incident {
		return explain.Incident{ID: id, State: explain.StateResolved, Resolved: &at, Revision: 3, Root: explain.Root{Entity: node(where), Signature: signature, Confidence: 1}}
	}
	for name, c := range map[string]struct {
		earlier explain.Incident
		want    bool
	}{
		"the same":     {resolved("inc-2", "b", "jitter"), true},
		"another name": {resolved("inc-2", "b", "cap"), false},
		"elsewhere":    {resolved("inc-2", "c", "jitter"), false},
	} {
		e, err := New(Config{Site: "s"})
		if err != nil {
			t.Fatal(err)
		}
		job := telemetry.Entity{Kind: telemetry.Job, Name: "j"}
		e.incidents.past = []*incidentCase{{job: job, incident: c.earlier, published: c.earlier, resolved: at}}
		x := &incidentCase{job: job, former: resolved("inc-1", "a", "cap")}
		x.published, x.incident = x.former, x.former
		e.incidents.depart(x, &explain.Answer{Entity: node("b"), Signature: jitter, Confidence: .95}, 500e9)
		if again := x.incident.ID == "inc-2"; again != c.want || again && (x.incident.Reopens != 1 || x.published.ID != "inc-2") {
			t.Errorf("%s: becomes %+v", name, x.incident)
		}
		if last := e.incidents.past[len(e.incidents.past)-1]; last.incident.ID != "inc-1" || last.resolved != at || len(e.incidents.past) == 1 != c.want {
			t.Errorf("%s: %d can be opened again, the last is %s", name, len(e.incidents.past), last.incident.ID)
		}
	}
}

// TestARelapseOfWhatWasNotSure: an incident that named a root without being sure of it is
// not that of a relapse which is sure of a place that it listed for next to nothing. One that
// named none may have begun too weakly for that.
func TestARelapseOfWhatWasNotSure(t *testing.T) {
	node := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }
	jitter := &explain.Signature{Name: "jitter", Domain: telemetry.Software}
	e, err := New(Config{Site: "s"})
	if err != nil {
		t.Fatal(err)
	}
	was := explain.Incident{Revision: 3, Root: explain.Root{Entity: node("a"), Signature: "late", Confidence: .37},
		Alternatives: []explain.Alternative{{Entity: node("b"), Signature: explain.Unknown, Confidence: .2}}}
	unnamed := was
	unnamed.Alternatives, unnamed.Root = was.Answers(), explain.Root{}
	for name, c := range map[string]struct {
		was   explain.Incident
		at    string
		sure  float64
		wants bool
	}{
		"at another place":            {was, "c", .7, true},
		"at a place that was likely":  {was, "b", .7, false},
		"at the place that was named": {was, "a", .7, false},
		"not sure":                    {was, "c", .4, false},
		"none was named":              {unnamed, "c", .7, false},
	} {
		ev := &explain.Evidence{Answers: []explain.Answer{{Entity: node(c.at), Signature: jitter, Confidence: c.sure}}}
		if got := e.incidents.elsewhere(&incidentCase{former: c.was}, ev, investigateFor); got != c.wants {
			t.Errorf("%s: elsewhere %v", name, got)
		}
	}
}

// TestTheNetworkAsAWhole: one link's fault is seen at many. A relapse whose answers in the
// network are likelier than all else may be that of a link; a few that are no candidates more
// than others do not make it so.
func TestTheNetworkAsAWhole(t *testing.T) {
	lossy := &explain.Signature{Name: "lossy", Domain: telemetry.Network}
	port := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Port, Name: name} }
	e, err := New(Config{Site: "s"})
	if err != nil {
		t.Fatal(err)
	}
	was := explain.Incident{Revision: 3, Root: explain.Root{Entity: port("s/1"), Domain: telemetry.Network, Signature: "lossy", Confidence: 1}}
	for each, want := range map[float64]bool{.3: false, .07: true} {
		ev := &explain.Evidence{Answers: []explain.Answer{{Entity: port("r/1"), Signature: lossy, Confidence: each}, {Entity: port("r/2"), Signature: lossy, Confidence: each}}}
		if got := e.incidents.elsewhere(&incidentCase{former: was}, ev, investigateFor); got != want {
			t.Errorf("two links with %v each: elsewhere %v", each, got)
		}
	}
}

// TestWhatComesAndGoesIsNotElsewhere: a relapse that was found at its place once, in its job
// or in another of the incident, stays there when it is not seen for a while.
func TestWhatComesAndGoesIsNotElsewhere(t *testing.T) {
	node := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }
	e, err := New(Config{Site: "s"})
	if err != nil {
		t.Fatal(err)
	}
	was := explain.Incident{Revision: 3, Root: explain.Root{Entity: node("a"), Signature: "cap", Confidence: 1}}
	unseen := &explain.Evidence{Answers: []explain.Answer{{Entity: node("b"), Confidence: .3}, {Entity: node("c"), Confidence: .3}}}
	for at, want := range map[string]bool{"": true, "a": false, "b": true} {
		x := &incidentCase{former: was}
		if at != "" {
			x.pinned = pinnedRoot{root: node(at), signature: "cap", times: 1}
		}
		if got := e.incidents.elsewhere(x, unseen, investigateFor); got != want {
			t.Errorf("found at %q since: elsewhere %v", at, got)
		}
		x.job = telemetry.Entity{Kind: telemetry.Job, Name: "j"}
		e.incidents.cases = []*incidentCase{{job: telemetry.Entity{Kind: telemetry.Job, Name: "k"}, under: x.job, pinned: x.pinned}}
		if x.pinned = (pinnedRoot{}); e.incidents.elsewhere(x, unseen, investigateFor) != want {
			t.Errorf("found at %q since in another job: elsewhere %v", at, !want)
		}
		e.incidents.cases = nil
	}
}

// TestOneRootThatDegradesOneJobAfterAnother: a job that becomes degraded for the root of
// another job's incident, a few minutes after that was resolved, opens it again, and what it
// cost the other one stays in it.
func TestOneRootThatDegradesOneJobAfterAnother(t *testing.T) {
	job := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Job, Name: name} }
	storage := func(name string, confidence float64) explain.Root {
		return explain.Root{Entity: telemetry.Entity{Kind: telemetry.Storage, Name: name}, Domain: telemetry.Software, Signature: "slow", Confidence: confidence}
	}
	for name, c := range map[string]struct {
		now  explain.Root
		want bool
	}{
		"the same":     {storage("s", .9), true},
		"hardly known": {storage("s", .4), false},
		"another":      {storage("t", .9), false},
	} {
		e, err := New(Config{Site: "s"})
		if err != nil {
			t.Fatal(err)
		}
		was := explain.Incident{ID: "inc-1", Revision: 3, Root: storage("s", .9), Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: job("a"), GPUSecondsLost: 7}}}}
		e.incidents.past = []*incidentCase{{job: job("a"), incident: was, published: was, resolved: 100e9}}
		x := &incidentCase{job: job("b"), naming: naming{root: place{c.now.Entity, c.now.Signature}}}
		next := explain.Incident{ID: "inc-2", Root: c.now, Onset: telemetry.Interval{Earliest: 300e9, Latest: 310e9}}
		x.incident = e.incidents.place(x, next, 320e9)
		if again := x.incident.ID == "inc-1"; again != c.want {
			t.Errorf("%s: opens it again: %v", name, again)
			continue
		}
		if jobs := e.incidents.together(x).Impact.Jobs; c.want && (len(jobs) != 2 || jobs[1].Job != job("a") || jobs[1].GPUSecondsLost != 7) {
			t.Errorf("%s: what it cost: %+v", name, jobs)
		}
		e.incidents.cases = []*incidentCase{{job: job("a")}}
		if jobs := e.incidents.together(x).Impact.Jobs; len(jobs) != 1 {
			t.Errorf("%s: what it cost a job that has a case of its own: %+v", name, jobs)
		}
	}
}

// TestWhatHasNoNameYetIsARelapseOfWhatItMayBe: a degradation without a root opens an
// incident again that was sure of its root only where some of its answers are there.
func TestWhatHasNoNameYetIsARelapseOfWhatItMayBe(t *testing.T) {
	node := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }
	job := telemetry.Entity{Kind: telemetry.Job, Name: "j"}
	for name, c := range map[string]struct {
		was  float64 // sure of node a
		now  []explain.Alternative
		want bool
	}{
		"an answer is there":      {1, []explain.Alternative{{Entity: node("b"), Signature: "jitter", Confidence: .4}, {Entity: node("a"), Signature: "cap", Confidence: .2}}, true},
		"all are elsewhere":       {1, []explain.Alternative{{Entity: node("b"), Signature: "jitter", Confidence: .4}, {Entity: node("b"), Signature: explain.Unknown, Confidence: .2}, {Entity: node("a"), Signature: "cap", Confidence: .02}}, false},
		"they are everywhere":     {1, []explain.Alternative{{Entity: node("b"), Signature: "jitter", Confidence: .2}, {Entity: node("c"), Signature: "jitter", Confidence: .2}}, true},
		"where it was is a guess": {.6, []explain.Alternative{{Entity: node("b"), Signature: "jitter", Confidence: .4}}, true},
	} {
		e, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		was := explain.Incident{ID: "inc-1", Revision: 3, Root: explain.Root{Entity: node("a"), Domain: telemetry.Power, Signature: "cap", Confidence: c.was}}
		e.incidents.past = []*incidentCase{{job: job, incident: was, published: was, resolved: 200e9}}
		// The likeliest is the root until an incident is published.
		first := explain.Root{Entity: c.now[0].Entity, Signature: c.now[0].Signature, Confidence: c.now[0].Confidence}
		if got := e.incidents.takeUp(&incidentCase{job: job}, &explain.Incident{Root: first, Alternatives: c.now[1:], Onset: telemetry.Interval{Earliest: 300e9, Latest: 305e9}}, 310e9); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got != nil)
		}
	}
}

// TestACertainRootThatAnEarlierGuessDidNotHoldIsAnotherTrouble: what shows a root now would
// have shown it a few minutes ago. Within a minute it is one trouble all the same.
func TestACertainRootThatAnEarlierGuessDidNotHoldIsAnotherTrouble(t *testing.T) {
	node := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Node, Name: name} }
	job := telemetry.Entity{Kind: telemetry.Job, Name: "j"}
	now := explain.Root{Entity: node("a"), Domain: telemetry.Cooling, Signature: "hot", Confidence: .99}
	guess := func(of ...explain.Alternative) explain.Incident {
		return explain.Incident{ID: "inc-1", Revision: 3, Root: explain.Root{Entity: node("b"), Domain: telemetry.Software, Signature: "jitter", Confidence: .3}, Alternatives: of}
	}
	for name, c := range map[string]struct {
		was   explain.Incident
		sure  float64 // of the root now
		after telemetry.Duration
		again bool
	}{
		"its answers did not hold it": {guess(), .99, 200e9, false},
		"they hardly held it":         {guess(explain.Alternative{Entity: node("a"), Signature: "hot", Confidence: .01}), .99, 200e9, false},
		"they held it":                {guess(explain.Alternative{Entity: node("a"), Signature: "hot", Confidence: .2}), .99, 200e9, true},
		"the present one is a guess":  {guess(), .7, 200e9, true},
		"half a minute after":         {guess(), .99, 30e9, true},
	} {
		e, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		e.incidents.past = []*incidentCase{{job: job, incident: c.was, published: c.was, resolved: 100e9}}
		next := explain.Incident{Root: now}
		next.Root.Confidence = c.sure
		next.Onset.Earliest = telemetry.Time(100e9).Add(c.after)
		named := &incidentCase{job: job, naming: naming{root: place{now.Entity, now.Signature}}}
		if got := e.incidents.takeUp(named, &next, telemetry.Time(100e9).Add(c.after)) != nil; got != c.again {
			t.Errorf("%s: a relapse: %v", name, got)
		}
	}
}

// TestAPlaceInTheNetwork: what one link does is seen at many, so that a guess of
// another link is the same place; one of which the case is very sure is not, unless it
// is the other end of the cable.
func TestAPlaceInTheNetwork(t *testing.T) {
	port := func(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.Port, Name: name} }
	e, err := New(Config{Site: "s"})
	if err != nil {
		t.Fatal(err)
	}
	e.Step(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: port("leaf0/1"), Relation: telemetry.Connects, To: port("spine0/1")}})
	e.sight.graph.Advance(1)
	at := func(name string, confidence float64) *explain.Incident {
		return &explain.Incident{Root: explain.Root{Entity: port(name), Domain: telemetry.Network, Signature: "link-errors", Confidence: confidence}}
	}
	for name, c := range map[string]struct {
		was, now *explain.Incident
		same     bool
	}{
		"sure of two links":       {at("leaf0/1", .97), at("leaf7/3", .96), false},
		"the new one is a guess":  {at("leaf0/1", .97), at("leaf7/3", .6), true},
		"the old one was a guess": {at("leaf0/1", .6), at("leaf7/3", .96), true},
		"the other end of one":    {at("leaf0/1", .97), at("spine0/1", .96), true},
		"the same":                {at("leaf0/1", .97), at("leaf0/1", .96), true},
	} {
		if got := e.incidents.samePlace(c.was, c.now); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// unread is telemetry of which nothing has come since a degradation began.
type unread struct{ explain.Symptoms }

func (unread) Pending(telemetry.Entity, *explain.Signature) bool { return true }

// TestOnlyARelapseWaitsForItsRoot: the root of an incident that was opened again stays named
// while what shows it is still to be read. One that was named since was seen.
func TestOnlyARelapseWaitsForItsRoot(t *testing.T) {
	e, err := New(Config{Site: "s", Signatures: []explain.Signature{{Name: "cap"}, {Name: "late"}}})
	if err != nil {
		t.Fatal(err)
	}
	node := telemetry.Entity{Kind: telemetry.Node, Name: "a"}
	former := explain.Incident{Revision: 2, Root: explain.Root{Entity: node, Signature: "cap"}}
	for name, c := range map[string]struct {
		former explain.Incident
		named  string
		want   bool
	}{
		"the first time":           {explain.Incident{}, "cap", false},
		"opened again":             {former, "cap", true},
		"and renamed since":        {former, "late", false},
		"opened again for another": {explain.Incident{Revision: 2}, "cap", false},
	} {
		x := &incidentCase{former: c.former, naming: naming{root: place{node, c.named}}}
		if got := e.incidents.awaits(x, &explain.Evidence{Symptoms: unread{}}, &explain.Answer{Entity: node}, 0); got != c.want {
			t.Errorf("%s: waits %v", name, got)
		}
	}
}
