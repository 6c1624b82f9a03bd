package web_test

import (
	"testing"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
)

// here is this folder, for who drives a browser.
const here = "."

// scenarios runs some of browsertest in one browser.
func scenarios(t *testing.T, list ...browsertest.Scenario) {
	t.Helper()
	browsertest.Run(t, browsertest.Job{Page: here, Scenarios: list})
}

// TestPage runs every scenario of browsertest in one browser, each against a
// site of its own.
func TestPage(t *testing.T) {
	alive, quiet, old := live(t), calm(t), recording(t)
	quiet["/api/v1/example"] = alive["/api/v1/incidents"].(object)["incidents"].([]any)[0]
	worlds := []struct {
		scenario string
		world    api
	}{
		{"liveIncident", quiet}, {"pressed", quiet}, {"notReady", quiet}, {"slowAnswer", quiet}, {"alarms", quiet}, {"logStandsStill", quiet}, {"deadStream", quiet}, {"deadStreamOfASlowLog", quiet}, {"boundedCurves", quiet},
		{"deepLink", alive}, {"unknownIncident", alive}, {"chain", alive}, {"curves", alive}, {"wholeStory", alive}, {"verdict", alive},
		{"keyboard", alive}, {"lostConnection", alive}, {"contrast", alive}, {"narrow", alive},
		{"recordingTimes", old}, {"hostileNames", hostile(t)}, {"emptySite", empty()}, {"large", crowded(t, mostJobs)},
	}
	var list []browsertest.Scenario
	for _, w := range worlds {
		list = append(list, browsertest.Scenario{Name: w.scenario, URL: newSite(t, w.world).URL})
	}
	scenarios(t, list...)
}
