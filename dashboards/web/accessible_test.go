package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	sim "github.com/quintet-dc/quintet/lab/sim/site"
)

// TestAccessible runs axe-core on every view at 390 px in the light theme, and on its
// colours at 1280 px in the dark one. With QUINTET_PAGE_AXE set it does so at 390, 1280
// and 2560 px, in both themes, which takes three times as long.
func TestAccessible(t *testing.T) {
	browsertest.Installed(t, here)
	if _, err := os.Stat(filepath.Join(here, "node_modules", "axe-core")); err != nil {
		t.Skip("axe-core is not installed: npm ci --prefix dashboards/web")
	}
	alive := live(t)
	firing(alive)
	simulated(alive)
	site, hall := newSite(t, alive).URL, newSite(t, mapped(t, sim.Sized(64))).URL
	var list []browsertest.Scenario
	for _, name := range []string{"Overview", "Incident", "Coolant", "List", "Wall", "Entity", "Explore", "Metrics", "Injected", "Reading", "Jobs", "Job", "Coverage", "Alerts", "Alert", "Silences", "Help", "Find"} {
		list = append(list, browsertest.Scenario{Name: "axe" + name, URL: site})
	}
	for _, name := range []string{"Fabric", "WallMaps", "Switch", "Port", "Power", "Rack"} {
		list = append(list, browsertest.Scenario{Name: "axe" + name, URL: hall})
	}
	list = append(list, browsertest.Scenario{Name: "axeReplay", URL: newSite(t, played(t)).URL}, browsertest.Scenario{Name: "axeLost", URL: newSite(t, alive).URL})
	browsertest.Run(t, browsertest.Job{Page: here, Scenarios: list, Given: object{"every": os.Getenv("QUINTET_PAGE_AXE") != ""}})
}
