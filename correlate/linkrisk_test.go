package correlate_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// cabled is two access switches with four hosts each and two spines, and a job on all
// hosts whose steps stay as long as they were, whatever the links do.
const cabled = `
-- site --
for 800s
-- edges --
node:h{i=0..7} contains nic:h{i}/nic{0..1}
switch:leaf{l=0..1} contains port:leaf{l}/{p0,p1,p2,p3,q0,q1,q2,q3,u0,u1}
switch:spine{s=0..1} contains port:spine{s}/d{0..1}
nic:h{i=0..7}/nic0 connects port:leaf{i/4}/p{i%4} speed_bits_per_second=100e9
nic:h{i=0..7}/nic1 connects port:leaf{i/4}/q{i%4} speed_bits_per_second=100e9
port:leaf{l=0..1}/u{s=0..1} connects port:spine{s}/d{l} speed_bits_per_second=400e9
JOB
-- load --
EVERY nic:h{0..7}/nic{0..1} port_up STATE1x*
EVERY port:leaf{0..1}/{p0,p1,p2,p3,q0,q1,q2,q3,u0,u1} port_up STATE1x*
EVERY port:spine{0..1}/d{0..1} port_up STATE1x*
SERIES
-- steps --
job:train job_step_seconds 3~1%x*
-- events --
1s job_started job:train
EVENTS
-- want --
no incident
`

// links states what differs from a network in which nothing happens.
type links struct {
	every, series, events, job string
}

func (l links) text() string {
	if l.every == "" {
		l.every = "5s"
	}
	if l.job == "" {
		l.job = "job:train runs node:h{i=0..7} rank={i}"
	}
	return strings.NewReplacer("EVERY", l.every, "STATE", "", "SERIES", l.series, "EVENTS\n", l.events, "JOB", l.job).Replace(cabled)
}

const flaps = `200s link_down port:leaf0/u1
203s link_up port:leaf0/u1
248s link_down port:leaf0/u1
251s link_up port:leaf0/u1
296s link_down port:leaf0/u1
299s link_up port:leaf0/u1
`

const dead = "but 5s port:spine1/d{0..1} port_up 1x60 _x*\nbut 5s port:leaf{0..1}/u1 port_up 1x60 0x*"

// fed is two hosts without power, and the meter of their feed, which is read later.
const fed = `but 5s nic:h{0..1}/nic{0..1} port_up 1x60 _x*
but 5s port:leaf0/{p0,p1,q0,q1} port_up 1x60 0x*
30s feed:a feed_up class=slow 1x11 0x*`

// TestALinkThatIsDownIsARisk: no job is slower yet.
func TestALinkThatIsDownIsARisk(t *testing.T) {
	const worn, down = "open risk link-flap port:leaf0/u1 warning", "open risk link-down port:leaf0/u1 warning"
	for name, c := range map[string]struct {
		links
		want []string
	}{
		"flaps, by events": {links{events: flaps, every: "90s"}, []string{worn, "resolved risk link-flap port:leaf0/u1 warning (recovered)"}},
		"flaps, by a counter": {links{every: "90s", series: "30s port:leaf0/u1 port_link_downs_total 3x7 4 5 6 7 8 9 10x*"},
			[]string{worn, "resolved risk link-flap port:leaf0/u1 warning (recovered)"}},
		"flaps, at both ends": {links{events: flaps + strings.ReplaceAll(flaps, "port:leaf0/u1", "port:spine1/d0"), every: "90s"},
			[]string{worn, "resolved risk link-flap port:leaf0/u1 warning (recovered)"}},
		"down and up once":                     {links{events: "200s link_down port:leaf0/u1\n204s link_up port:leaf0/u1\n"}, nil},
		"counted twice at once":                {links{every: "90s", series: "30s port:leaf0/u1 port_link_downs_total 3x7 5x*"}, nil},
		"the event of its end is lost":         {links{events: "200s link_down port:leaf0/u1\n200s link_down port:spine1/d0\n204s link_up port:spine1/d0\n", every: "90s"}, nil},
		"one poll meets it":                    {links{every: "30s", series: "but 30s port:leaf0/u1 port_up 1x7 0 1x*"}, nil},
		"stays down, by events":                {links{events: "200s link_down port:leaf0/u1\n", series: "but 5s port:leaf0/u1 port_up 1x40 0x*"}, []string{down}},
		"stays down, by an event after a poll": {links{events: "301s link_down port:leaf0/u1\n", every: "300s"}, []string{down, "resolved risk link-down port:leaf0/u1 warning (recovered)"}},
		"stays down, by state":                 {links{series: "but 5s port:leaf0/u1 port_up 1x40 0x*"}, []string{down}},
		"and comes back": {links{series: "but 5s port:leaf0/u1 port_up 1x40 0x40 1x*"},
			[]string{down, "resolved risk link-down port:leaf0/u1 warning (recovered)"}},
		"flaps, then stays down":      {links{events: flaps + "344s link_down port:leaf0/u1\n", series: "but 5s port:leaf0/u1 port_up 1x69 0x*"}, []string{worn, down}},
		"was down all along":          {links{series: "but 5s port:leaf0/u1 port_up 0x*"}, nil},
		"no job is there":             {links{job: "job:train runs node:h{i=0..1} rank={i}", series: "but 5s port:leaf1/u1 port_up 1x40 0x*"}, nil},
		"in maintenance":              {links{events: "150s maintenance_started switch:leaf0\n" + flaps, series: "but 5s port:leaf0/u0 port_up 1x40 0x*"}, nil},
		"before maintenance was over": {links{events: "150s maintenance_started switch:leaf0\n" + flaps + "305s maintenance_ended switch:leaf0\n"}, nil},
		"shut on purpose":             {links{series: "but 5s port:leaf0/u1 port_up 1x40 0x*\n5s port:leaf0/u1 port_physical_state 5x40 3x*"}, nil},
		"a whole switch":              {links{series: dead}, []string{"open risk switch-down switch:spine1 warning"}},
		"a whole switch, read in turn": {links{series: strings.Replace(dead, "but 5s port:leaf{0..1}/u1 port_up 1x60 0x*", "but 5s port:leaf0/u1 port_up 1x60 0x*\nbut 25s port:leaf1/u1 port_up 1x13 0x*", 1)},
			[]string{"open risk switch-down switch:spine1 warning"}},
		"a whole host": {links{series: "but 5s nic:h2/nic{0..1} port_up 1x60 _x*\nbut 5s port:leaf0/p2 port_up 1x60 0x*\nbut 5s port:leaf0/q2 port_up 1x60 0x*"},
			[]string{"open risk node-down node:h2 warning"}},
		"all hosts of a feed": {links{series: fed, job: "job:train runs node:h{i=0..7} rank={i}\nfeed:a feeds node:h{0..1}"},
			[]string{"open risk feed-loss feed:a warning"}},
		"a switch that restarts twice": {links{events: restarts("200", "204") + restarts("260", "264")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, all := play(t, c.text())
			wantHistory(t, all, c.want...)
			for _, in := range all {
				if in.ID != all[0].ID {
					t.Errorf("two risks: %s, %s", all[0].ID, in.ID)
				}
				if wait := in.Opened.Sub(in.Onset.Latest); wait > 100e9 {
					t.Errorf("opened %v after it began", wait)
				}
				if len(in.Impact.Entities) == 0 || !strings.Contains(in.Title, "train is at risk since ") {
					t.Errorf("title %q, hosts %v", in.Title, in.Impact.Entities)
				}
			}
		})
	}
}

// restarts is a spine whose links go down and come back.
func restarts(down, up string) (events string) {
	for _, end := range []string{"port:leaf0/u1", "port:leaf1/u1"} {
		events += down + "s link_down " + end + "\n" + up + "s link_up " + end + "\n"
	}
	return events
}

// TestARiskOfALinkIsItsJobsIncident: half a minute later its job is slower.
func TestARiskOfALinkIsItsJobsIncident(t *testing.T) {
	for name, steps := range map[string][2]string{
		"switch-down/fires-spine": {"4~1%x28 5~1%x*", "4~1%x36 5~1%x*"},
		"link-down/fires-uplink":  {"4~1%x28 5~1%x*", "4~1%x36 5~1%x*"},
		"link-flap/fires-uplink":  {"4~1%x28 (8~1% 4~1%)x*", "4~1%x36 (8~1% 4~1%)x*"},
	} {
		t.Run(name, func(t *testing.T) {
			story, err := os.ReadFile("../rules/signatures/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			_, all := play(t, strings.Replace(string(story), steps[0], steps[1], 1))
			if len(all) == 0 {
				t.Fatal("nothing was published")
			}
			first, last := all[0], all[len(all)-1]
			if first.Kind != explain.KindRisk || last.Kind != explain.KindIncident || last.Root.Signature != first.Root.Signature {
				t.Errorf("got %q", history(all))
			}
			for _, in := range all {
				if in.ID != first.ID {
					t.Errorf("two incidents: %q", history(all))
				}
			}
		})
	}
}

// TestAnIncidentThatIsSureOfNothingHasTheNameOfTheRisk: no traffic is measured, so that
// nothing but its time shows why the job is slower.
func TestAnIncidentThatIsSureOfNothingHasTheNameOfTheRisk(t *testing.T) {
	for name, c := range map[string]struct {
		steps string
		one   bool
	}{
		"half a minute later": {"3~1%x108 6~1%x*", true},
		"minutes later":       {"3~1%x160 6~1%x*", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, all := play(t, strings.Replace(links{series: dead}.text(), "3~1%x*", c.steps, 1))
			i := slices.IndexFunc(all, func(in explain.Incident) bool { return in.Kind == explain.KindIncident })
			if i < 1 || c.one != (all[i].ID == all[0].ID) {
				t.Fatalf("got %q", history(all))
			}
			for _, in := range all[i+1:] {
				if wait := in.Opened.Sub(all[i].Updated); in.Kind == explain.KindRisk && wait < 90e9 {
					t.Errorf("published as a risk again %v after the job was degraded", wait)
				}
			}
		})
	}
}

// TestARecoveredJobMayRelapse: the link goes on to flap, and that is published as a risk
// two minutes after the incident.
func TestARecoveredJobMayRelapse(t *testing.T) {
	story, err := os.ReadFile("../rules/signatures/link-flap/fires-uplink.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, all := play(t, strings.NewReplacer("for 230s", "for 700s", "4~1%x28 (8~1% 4~1%)x*", "4~1%x36 (8~1% 4~1%)x8 4~1%x*").Replace(string(story)))
	i := slices.IndexFunc(all, func(in explain.Incident) bool { return in.Resolved != nil })
	if i < 1 || i+1 == len(all) || all[i+1].Kind != explain.KindRisk || all[i+1].Opened.Sub(*all[i].Resolved) < 110e9 {
		t.Errorf("got %q", history(all))
	}
}

// TestAFallThatTwoSourcesReportIsOne: what a switch reports over gNMI and writes into its
// log; two events of one source are two.
func TestAFallThatTwoSourcesReportIsOne(t *testing.T) {
	for want, logs := range [][]string{{"gnmi", "logs"}, {"logs", "logs"}} {
		e, published, n := riskEngine(t), 0, 0
		for _, r := range records(t, links{every: "90s", events: strings.ReplaceAll("200s link_down END\n201s link_up END\n202s link_down END\n203s link_up END\n", "END", "port:leaf0/u1")}.text()) {
			if ev := r.Event; ev != nil && ev.Name == telemetry.EventLinkDown {
				ev.Source.Collector = logs[n]
				n++
			}
			published += len(e.Step(r).Incidents)
		}
		if (published > 0) != (want > 0) {
			t.Errorf("from %q: %d published", logs, published)
		}
	}
}

// TestAFlappingLinkThatStaysDownIsDown: it is reported within a minute and a bit.
func TestAFlappingLinkThatStaysDownIsDown(t *testing.T) {
	_, all := play(t, links{events: flaps + "344s link_down port:leaf0/u1\n", series: "but 5s port:leaf0/u1 port_up 1x69 0x*"}.text())
	if last := all[len(all)-1]; last.Root.Signature != "link-down" || last.Updated.Sub(all[0].Opened) > 170e9 {
		t.Errorf("%v after it began: %q", last.Updated.Sub(all[0].Opened), history(all))
	}
}

// TestEventsOfLinksCountForTheIncident: their states are read once in a minute.
func TestEventsOfLinksCountForTheIncident(t *testing.T) {
	story, err := os.ReadFile("../rules/signatures/switch-down/fires-spine.txtar")
	if err != nil {
		t.Fatal(err)
	}
	polled := strings.NewReplacer("4~1%x28 5~1%x*", "4~1%x32 5~1%x*", "1x113 0x*", "1x*", "1x113 _x*", "1x*")
	text := strings.ReplaceAll(polled.Replace(string(story)), "1s      nic:h{0..7}/nic0          port_up", "100s    nic:h{0..7}/nic0          port_up")
	for _, line := range []string{"port:leaf{0..1}/p{0..3}   port_up", "port:leaf{0..1}/u{0..1}   port_up", "port:spine{0..1}/d{0..1}  port_up"} {
		text = strings.ReplaceAll(text, "1s      "+line, "100s    "+line)
	}
	text = strings.ReplaceAll(text, "but 1s  port:spine1/d{0..1}       port_up  1x*", "but 100s port:spine1/d{0..1}      port_up  1x2 _x*")
	text = strings.ReplaceAll(text, "but 1s  port:leaf{0..1}/u1        port_up  1x*", "but 100s port:leaf{0..1}/u1       port_up  1x2 0x*")
	_, all := play(t, text)
	for _, in := range all {
		if in.Kind == explain.KindIncident && in.Root.Signature != "switch-down" {
			t.Errorf("got %q", history(all))
		}
	}
	if len(all) == 0 || all[len(all)-1].Kind != explain.KindIncident {
		t.Errorf("got %q", history(all))
	}
}

// TestFallenLinksOutliveARestart: a snapshot at any second changes nothing.
func TestFallenLinksOutliveARestart(t *testing.T) {
	text := links{events: flaps + "344s link_down port:leaf0/u1\n", series: "but 5s port:leaf0/u1 port_up 1x69 0x*"}.text()
	survivesRestarts(t, text, 12)
}

// TestARiskOfALinkIsInherited: an engine that sees the link down from its first sample on
// would take it for one that always was.
func TestARiskOfALinkIsInherited(t *testing.T) {
	for name, c := range map[string]struct {
		was, series string
		over        bool
	}{
		"a link":             {"but 5s port:leaf0/u1 port_up 1x40 0x*", "but 5s port:leaf0/u1 port_up 0x*", false},
		"a switch":           {dead, strings.ReplaceAll(dead, "1x60 ", ""), false},
		"a link that is up":  {"but 5s port:leaf0/u1 port_up 1x40 0x*", "", true},
		"a switch that's up": {dead, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, before := play(t, links{series: c.was}.text())
			e := riskEngine(t)
			var all []explain.Incident
			for i, r := range records(t, strings.Replace(links{series: c.series}.text(), "for 800s", "for 1000s", 1)) {
				if i == 0 {
					e.WarmStart(before[:1])
				}
				all = append(all, slices.Clone(e.Step(r).Incidents)...)
			}
			if over := len(e.Live()) == 0; over != c.over || len(all) > 0 && all[0].ID != before[0].ID {
				t.Errorf("over: %v, published %q", over, history(all))
			}
		})
	}
}
