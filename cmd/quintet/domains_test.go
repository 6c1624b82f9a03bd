package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

// TestOneFaultOfEachDomain injects one fault of software, computing, network, power
// and cooling, each on a site of its own behind real protocols, and requires that
// it is named where it was injected, by the API and on the page.
// QUINTET_PAGE_PICTURES names a folder for screenshots.
func TestOneFaultOfEachDomain(t *testing.T) {
	if os.Getenv("QUINTET_DRILLS") == "" {
		t.Skip("three minutes of a core: make drills-page")
	}
	browsertest.Installed(t, domainsPage)
	for _, what := range []string{"host-jitter@node:n0001", "gpu-slow@gpu:n0001/5", "link-errors@port:p3-leaf00/eth1", "power-cap@gpu:n0000/7", "coolant-flow-loss@pump:cdu00/1"} {
		d, err := parseFault(what)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fault.Find(d.name).Domain, func(t *testing.T) {
			t.Parallel() // it waits most of its time
			named(t, what, d)
		})
	}
}

const (
	domainsPage = "../../dashboards/web"
	domainsSeed = 3
)

// named runs a demo with one fault, until that is named.
func named(t *testing.T, what string, d due) {
	t.Helper()
	model, err := live.New(16, domainsSeed, time.Now()) // the demo's own site: what counts as right
	if err != nil {
		t.Fatal(err)
	}
	f, err := model.Strike(d.name, d.where, drillLasts)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := model.Answer(f)
	if err != nil {
		t.Fatal(err)
	}
	listen, program := wiretest.FreeAddress(t), programIn(t, t.TempDir())
	told := lines(t, exec.CommandContext(t.Context(), program, "demo", "--seed", "3", "--listen", listen, "--fault", what, "--after", drillWarm.String(), "--lasts", drillLasts.String()))
	wait(t, told, "  struck  ", 3*time.Minute) // it is struck
	began, first := time.Now(), ""
	for limit := began.Add(drillLasts); time.Now().Before(limit); pause(t.Context(), time.Second) {
		open, err := incidentsOf(t.Context(), "http://"+listen+"/", "?state=open")
		if err != nil {
			t.Fatal(err)
		}
		for i := range open {
			x := &open[i]
			if first == "" {
				first = x.String()
				t.Logf("after %.0f s: %s", time.Since(began).Seconds(), first)
			}
			if judged(f, answer, x) == right {
				t.Logf("named after %.0f s: %s", time.Since(began).Seconds(), x.Title)
				browsertest.Run(t, browsertest.Job{Page: domainsPage, Dir: os.Getenv("QUINTET_PAGE_PICTURES"), Scenarios: []browsertest.Scenario{{Name: "struck", URL: "http://" + listen}},
					Given: map[string]string{"entity": x.Root.Entity.String(), "signature": x.Root.Signature, "domain": answer.Domain, "job": "train-a"}})
				return
			}
		}
	}
	t.Errorf("%s was not named; at first: %s", what, first)
}
