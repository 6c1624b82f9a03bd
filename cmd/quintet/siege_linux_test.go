package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	siegeGPUs  = 32               // the smallest site with two jobs
	siegeWarm  = 75 * time.Second // of the log's time: until then a job has a usual step
	siegeLasts = 5 * time.Minute  // the fault
	// siegeService and siegeEngine are what the service and the engine's process may
	// hold, in MB.
	siegeService, siegeEngine = 1536, 512
)

// TestTheSiege attacks one service in every way of siegeAttacks at once: processes
// with credentials of their own, clients without any, a BMC and a switch. When each
// attack has been refused, a GPU of a job becomes slow. It is named where it is; the
// job of which a process lies has no incident; each attack is counted by reason, under
// the name of who attacks; memory stays bounded.
func TestTheSiege(t *testing.T) {
	if os.Getenv("QUINTET_SIEGE") == "" {
		t.Skip("minutes of a service under attack: make threats")
	}
	s := newSite(t, 3)
	s.within(15 * time.Minute)
	g := newSiege(s)
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	parts.Go(func() { _ = g.wired.run(ctx, "http://"+g.page) })
	s.patiently(5*time.Minute, "the site has a past and every job a usual step", g.warm)
	g.gpu = g.place()
	g.victim = g.elsewhere(g.gpu)
	for name, attack := range siegeAttacks() {
		parts.Go(func() {
			if err := attack(ctx, g); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	var uncounted []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("not counted: %s; state %s; incidents %s", strings.Join(uncounted, "; "), g.text("/api/v1/status"), g.text("/api/v1/incidents"))
		}
	})
	s.patiently(5*time.Minute, "every attack is counted", func() bool {
		g.measure()
		uncounted = g.uncounted()
		return len(uncounted) == 0
	})
	f, err := g.wired.site.Strike("gpu-slow", g.gpu, siegeLasts)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := g.wired.site.Answer(f)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.patiently(siegeLasts, "the fault is named", func() bool { g.measure(); return g.named(f, answer) })
	t.Logf("%s at %s was named after %s, under attack", f.Name, f.Entity, time.Since(began).Round(time.Second))
	g.nothingElse(t, f, answer)
	t.Logf("most memory: service %.0f MB, engine %.0f MB", g.service, g.engine)
	if g.service > siegeService || g.engine > siegeEngine {
		t.Errorf("memory of %.0f and %.0f MB, want at most %d and %d", g.service, g.engine, siegeService, siegeEngine)
	}
}

// siege is a service on a site, and who attacks it.
type siege struct {
	s       *site
	wired   *wiredSite
	page    string
	process *process
	hostile string           // collector that reads the hostile switch
	gpu     telemetry.Entity // that becomes slow
	victim  telemetry.Entity // job of which a process lies

	service, engine float64 // MB, the most that each process held
}

// newSiege starts a site whose devices answer over their own protocols, the service
// that reads it, and a hostile BMC and a hostile switch among what it reads.
func newSiege(s *site) *siege {
	s.t.Helper()
	wired, err := newWiredSite(siegeGPUs, 3, onSlurm, s.path("lab"))
	if err != nil {
		s.t.Fatal(err)
	}
	g := &siege{s: s, wired: wired, page: wiretest.FreeAddress(s.t)}
	entries := wired.entries()
	entries["redfish"] = append(entries["redfish"], hostileBMC(s))
	entries["gnmi"] = append(entries["gnmi"], hostileSwitch(s))
	g.hostile = fmt.Sprintf("gnmi-%d", len(entries["gnmi"]))
	doc, err := yaml.Marshal(map[string]any{"site": map[string]any{"name": "site"}, "listen": g.page, "data": s.path("data"),
		"nats": map[string]any{"listen": s.log}, "topology": map[string]any{"files": []string{wired.plan}}, "collectors": entries})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("store.yaml", string(doc))
	g.process = s.start("serve", "--config", s.path("store.yaml"), "--log-level", "warn")
	s.enrolled()
	return g
}

// warm reports whether the log reaches back far enough and every job is known.
func (g *siege) warm() bool {
	var status replica.Status
	var jobs replica.Jobs
	ctx := g.s.ctx
	if readInto(ctx, "http://"+g.page+"/api/v1/status", &status) != nil || readInto(ctx, "http://"+g.page+"/api/v1/jobs", &jobs) != nil {
		return false
	}
	known := func(j replica.Job) bool { return j.Usual != nil && j.GPUs > 0 }
	return status.Tick != nil && status.Tick.Sub(status.Started) > telemetry.Duration(siegeWarm) &&
		len(jobs.Jobs) > 1 && !slices.ContainsFunc(jobs.Jobs, func(j replica.Job) bool { return !known(j) })
}

// place returns a GPU that a job uses.
func (g *siege) place() telemetry.Entity {
	g.s.t.Helper()
	places := g.wired.site.Places("gpu-slow")
	if len(places) == 0 {
		g.s.t.Fatal("no GPU of the site can become slow")
	}
	return places[0]
}

// elsewhere returns a job that does not use a GPU, nor its host.
func (g *siege) elsewhere(gpu telemetry.Entity) telemetry.Entity {
	g.s.t.Helper()
	host, _, _ := strings.Cut(gpu.Name, "/")
	uses := map[telemetry.Entity]bool{}
	for _, e := range g.wired.site.Board().Edges(telemetry.Runs) {
		on, _, _ := strings.Cut(e.To.Name, "/")
		uses[e.From] = uses[e.From] || on == host
	}
	for job, there := range uses {
		if !there {
			return job
		}
	}
	g.s.t.Fatalf("every job uses %s", host)
	return telemetry.Entity{}
}

// measure keeps the largest memory of the service and of the engine's process.
func (g *siege) measure() {
	if mb, err := statusOf(g.process, "VmRSS"); err == nil {
		g.service = max(g.service, mb)
	}
	for _, pid := range childrenOf(g.process.cmd.Process.Pid) {
		child := &process{cmd: &exec.Cmd{Process: &os.Process{Pid: pid}}}
		if mb, err := statusOf(child, "VmRSS"); err == nil {
			g.engine = max(g.engine, mb)
		}
	}
}

// siegeIncident is an incident and the jobs that it degrades.
type siegeIncident struct {
	opened
	Impact explain.Impact `json:"impact"`
}

// incidents are those of all times; none while the service does not answer.
func (g *siege) incidents() []siegeIncident {
	var body struct {
		Incidents []siegeIncident `json:"incidents"`
	}
	if readInto(g.s.ctx, "http://"+g.page+"/api/v1/incidents", &body) != nil {
		return nil
	}
	return body.Incidents
}

func (g *siege) named(f fault.Fault, a fault.Answer) bool {
	return slices.ContainsFunc(g.incidents(), func(x siegeIncident) bool { return judged(f, a, &x.opened) == right })
}

// nothingElse fails if there is an incident that is not of the fault, or one of the
// job of which a process lies.
func (g *siege) nothingElse(t *testing.T, f fault.Fault, a fault.Answer) {
	t.Helper()
	for _, x := range g.incidents() {
		if judged(f, a, &x.opened) != right {
			t.Errorf("an incident beside that of the fault: %s", &x.opened)
		}
		if slices.ContainsFunc(x.Impact.Jobs, func(j explain.JobImpact) bool { return j.Job == g.victim }) {
			t.Errorf("an incident of %s, of which a process lies: %s", g.victim, &x.opened)
		}
	}
	for _, m := range g.metrics() {
		if m.name == "quintet_bus_foreign_revisions_total" && m.value > 0 {
			t.Errorf("%.0f entries that no engine wrote in a stream: %s", m.value, m.labels)
		}
	}
}

// uncounted lists the attacks that are not counted, or not under the name of who
// attacks.
func (g *siege) uncounted() (out []string) {
	metrics := g.metrics()
	for what, counted := range g.counted() {
		if !slices.ContainsFunc(metrics, counted) {
			out = append(out, what)
		}
	}
	report := g.text("/api/v1/coverage/report")
	refused := g.refused()
	for process, reasons := range siegeRefused() {
		for _, reason := range reasons {
			if refused[process][reason] == 0 || !strings.Contains(report, process+": ") {
				out = append(out, fmt.Sprintf("%s, %s", process, reason))
			}
		}
	}
	slices.Sort(out)
	return out
}

// siegeMetric is a line of /metrics.
type siegeMetric struct {
	name, labels string
	value        float64
}

func (g *siege) metrics() (out []siegeMetric) {
	for line := range strings.Lines(g.text("/metrics")) {
		series, number, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		value, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil {
			continue
		}
		name, labels, _ := strings.Cut(series, "{")
		out = append(out, siegeMetric{name, labels, value})
	}
	return out
}

// refused is how often each process was refused what, by reason, on Coverage.
func (g *siege) refused() map[string]map[grants.Reason]uint64 {
	out := map[string]map[grants.Reason]uint64{}
	for _, p := range g.processes() {
		out[p.Process] = p.Refused
	}
	return out
}

// processes are those that Coverage lists; none while the service does not answer.
func (g *siege) processes() []grants.ProcessState {
	var body replica.Coverage
	if json.Unmarshal([]byte(g.text("/api/v1/coverage")), &body) != nil {
		return nil
	}
	return body.Processes
}

// text is the body of an answer; "" without one.
func (g *siege) text(path string) string {
	q, err := http.NewRequestWithContext(g.s.ctx, http.MethodGet, "http://"+g.page+path, http.NoBody)
	if err != nil {
		return ""
	}
	resp, err := g.s.client().Do(q)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	return string(b)
}
