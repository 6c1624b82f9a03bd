package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

const (
	stormSwitch = "switch:p0-spine00"
	stormGPUs   = "1024"
	stormPast   = 200 * time.Second // of the recording: the spine dies three quarters of a minute later
	slowAnswers = 5 * time.Second   // of the receiver that takes its time
)

// TestTheStorm has a spine die under a site through the whole service: a trace of
// the lab is played into NATS, the engine reads it, two receivers are notified, of
// which one is slow, and a browser views the page. It expects one incident, each of
// its revisions sent once to each receiver, nothing dropped unreported, and the
// page responsive meanwhile. QUINTET_STORM is small, for a site of 1,024 GPUs (make
// storm-small), or names a trace, with the truth next to it, as make storm-live
// does for 16,384 GPUs; QUINTET_STORM_SPEED is how many times real time it is
// played.
func TestTheStorm(t *testing.T) {
	const page = "../../dashboards/web"
	trace := os.Getenv("QUINTET_STORM")
	if trace == "" {
		t.Skip("three minutes of two cores: make storm-small")
	}
	s := newSite(t, 4)
	most, looks := 80*time.Minute, 40*time.Minute
	speed, views := cmp.Or(os.Getenv("QUINTET_STORM_SPEED"), "1"), []string{"fabric", "power", "jobs", "coverage", "overview"}
	if trace == "small" {
		most, looks = 10*time.Minute, 5*time.Minute
		views = views[:1]
		trace = s.path("storm.qtrace")
		if out, err := exec.CommandContext(s.ctx, s.program, "lab", "--gpus", stormGPUs, "--fault", "switch-down@"+stormSwitch, "--minutes", "5", "--trace", trace).CombinedOutput(); err != nil {
			t.Fatalf("lab: %v: %s", err, out)
		}
	}
	s.within(most)
	slow := newHookEar(t)
	slow.takes = slowAnswers
	listen := wiretest.FreeAddress(t)
	s.write("storm.yaml", "notify:\n  receivers:\n    - {name: ear, figures: true, webhook: {url: \""+s.receiver.url+"\"}}\n    - {name: slow, figures: true, webhook: {url: \""+slow.url+"\"}}\n")
	p := s.start("demo", "--trace", trace, "--speed", speed, "--past", stormPast.String(), "--listen", listen, "--data", s.path("storm"), "--config", s.path("storm.yaml"))
	url := "http://" + listen
	s.patiently(5*time.Minute, "the page is there", func() bool { return strings.Contains(p.said.String(), "the page is at") })
	s.patiently(10*time.Minute, "the past is read", func() bool { return tallies(t, url).all["quintet_engine_grids_total"] >= stormPast.Seconds() })
	before := memoryOf(t, p)

	if why := browsertest.Missing(page); why != "" {
		t.Logf("the page is not looked at: %s", why)
	} else {
		browsertest.Run(t, browsertest.Job{Page: page, Within: looks, Dir: os.Getenv("QUINTET_PAGE_PICTURES"), Scenarios: []browsertest.Scenario{{Name: "storm", URL: url}},
			Given: map[string]any{"root": strings.TrimPrefix(stormSwitch, "switch:"), "views": views}})
	}
	s.patiently(30*time.Minute, "the recording has ended", func() bool { return strings.Contains(p.said.String(), "the recording has ended") })

	found := s.storm(url, trace)
	s.patiently(5*time.Minute, "both are told", func() bool {
		return s.receiver.last(found.ID) == found.Revision && slow.last(found.ID) == found.Revision
	})
	for name, ear := range map[string]*hookEar{"ear": s.receiver, "slow": slow} {
		ear.once(t, name, found.ID)
	}
	told := tallies(t, url)
	t.Logf("records read by the engine: %.0f; samples: %.0f", told.all["quintet_replica_records_total"], told.all["quintet_engine_samples_total"])
	for _, name := range []string{"quintet_engine_events_refused_total", "quintet_engine_risks_refused_total", "quintet_engine_forgotten_total", "quintet_replica_revisions_dropped_total", "quintet_serve_incidents_dropped_total"} {
		if v, is := told.all[name]; !is || v != 0 {
			t.Errorf("%s is %v (%v)", name, v, is)
		}
	}
	t.Logf("what was left out, by reason: %s", cmp.Or(strings.Join(told.out, ", "), "nothing"))
	t.Logf("memory of the whole service: before the storm %s; after it %s", before, memoryOf(t, p))
}

// storm is the one incident that a site reports once it is stable, compared with
// the truth next to the trace.
func (s *site) storm(url, trace string) explain.Incident {
	s.t.Helper()
	var last string
	s.patiently(10*time.Minute, "the engine has read all", func() bool {
		var status struct{ Tick string }
		s.ask(url+"/api/v1/status", &status)
		pause(s.ctx, 3*time.Second)
		before := last
		last = status.Tick
		return before == last
	})
	var list struct{ Incidents []explain.Incident }
	s.ask(url+"/api/v1/incidents", &list)
	if len(list.Incidents) != 1 {
		s.t.Fatalf("%d incidents, want one: %+v", len(list.Incidents), list.Incidents)
	}
	in := list.Incidents[0]
	if in.Root.Signature != "switch-down" || in.Root.Entity.String() != stormSwitch {
		s.t.Errorf("the root is %s at %s", in.Root.Signature, in.Root.Entity)
	}
	var truth struct {
		Faults []struct{ Jobs []string }
	}
	text, err := os.ReadFile(strings.TrimSuffix(trace, filepath.Ext(trace)) + ".truth.json")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &truth); err != nil {
		s.t.Fatal(err)
	}
	jobs := []string{}
	for _, j := range in.Impact.Jobs {
		jobs = append(jobs, j.Job.String())
		if !slices.Contains(truth.Faults[0].Jobs, j.Job.String()) {
			s.t.Errorf("%s is said to be hurt, and is not", j.Job)
		}
	}
	slices.Sort(jobs)
	if len(jobs) < 4 {
		s.t.Errorf("%d jobs are said to be hurt", len(jobs))
	}
	s.t.Logf("one incident, revision %d, %s: %d of %d jobs: %s", in.Revision, in.State, len(jobs), len(truth.Faults[0].Jobs), strings.Join(jobs, " "))
	return in
}

// ask reads an answer of the API.
func (s *site) ask(url string, into any) {
	s.t.Helper()
	a, err := s.client().Get(url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	if err := json.NewDecoder(a.Body).Decode(into); err != nil || a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s: %v", url, a.Status, err)
	}
}

// last is the newest revision of an incident that was received.
func (h *hookEar) last(id string) (newest int) {
	for _, n := range h.told(id) {
		newest = max(newest, n)
	}
	return newest
}

// told lists the revisions of an incident that were received, one for each attempt.
func (h *hookEar) told(id string) (out []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, bodies := range h.bodies {
		if in, rest, ok := strings.Cut(key, "."); ok && in == id {
			number, _, _ := strings.Cut(rest, ".")
			n, _ := strconv.Atoi(number)
			for range bodies {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

// once fails unless a receiver received nothing but one incident, and each revision
// at most once.
func (h *hookEar) once(t *testing.T, name, id string) {
	t.Helper()
	told := h.told(id)
	if len(slices.Compact(slices.Clone(told))) != len(told) {
		t.Errorf("%s was told a revision twice: %v", name, told)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n != len(told) {
		t.Errorf("%s was told %d times, of the incident %d times", name, h.n, len(told))
	}
	t.Logf("%s, answering in %s, was told of revisions %v: %d messages", name, h.takes, told, h.n)
}

// memoryOf returns how much memory of its own a process has, and how much it has
// had at most, its mapped files with it.
func memoryOf(t *testing.T, p *process) string {
	t.Helper()
	var out []string
	for _, field := range []string{"RssAnon", "VmHWM"} {
		mb, err := statusOf(p, field)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %.0f MB", field, mb))
	}
	return strings.Join(out, ", ")
}

// tally is what a service counts, and of the counters of what was left out those
// that are not zero.
type tally struct {
	all map[string]float64
	out []string
}

func tallies(t *testing.T, url string) tally {
	t.Helper()
	a, err := (&http.Client{Timeout: 20 * time.Second}).Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	told := tally{all: map[string]float64{}}
	left := regexp.MustCompile(`(dropped|refused|late|lost|forgotten|expired|malformed|failed|failures).*_total|_total.*"(late|TooMany)"`)
	for in := bufio.NewScanner(a.Body); in.Scan(); {
		name, value, ok := strings.Cut(in.Text(), " ")
		v, err := strconv.ParseFloat(value, 64)
		if strings.HasPrefix(name, "#") || !ok || err != nil {
			continue
		}
		told.all[name] = v
		if v != 0 && left.MatchString(name) {
			told.out = append(told.out, fmt.Sprintf("%s %g", name, v))
		}
	}
	return told
}
