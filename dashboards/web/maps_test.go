package web_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	sim "github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/promlint"
	"github.com/quintet-dc/quintet/telemetry"
)

// mapped is the live site with a plant, one switch of which is hot: the open
// incident's host is replaced by the one behind the hot port.
func mapped(t *testing.T, size sim.Config) api {
	p := newPlant(t, size, today.Add(-10*time.Minute))
	a := p.answers(live(t))
	port := telemetry.Entity{Kind: telemetry.Port, Name: p.hot + "/eth2"}
	nic, _, _ := p.graph.Peer(port)
	up, _, _ := p.graph.Peer(p.graph.Uplinks(telemetry.Entity{Kind: telemetry.Switch, Name: p.hot})[0])
	old := a["/api/v1/incidents"].(object)["incidents"].([]any)[0].(object)
	open := moved(old, 0).(object)
	open["title"] = strings.ReplaceAll(open["title"].(string), "h9/nic0", nic.Name)
	open["root"].(object)["entity"] = nic.String()
	chain := open["chain"].([]any)
	for i, e := range []telemetry.Entity{nic, port, up} {
		if i < len(chain) {
			chain[i].(object)["entity"] = e.String()
		}
	}
	a["/api/v1/incidents"] = object{"incidents": []any{open}}
	a["/api/v1/paths"] = object{"paths": []string{"/fabric", "/fabric?measure=use", "/fabric?of=switch:" + p.hot, "/fabric?of=" + port.String() + "&measure=marks",
		"/power", "/power?measure=margin", "/power?of=rack:" + p.weak(), "/power?of=node:n0005"}}
	return a
}

// TestMaps runs the scenarios of browsertest/maps.mjs. Its measurements are logged,
// not asserted: they depend on the machine.
func TestMaps(t *testing.T) {
	small := mapped(t, sim.Sized(64))
	worlds := map[string]api{"fabric": small, "fabricInTime": small, "fabricWithoutHistory": small, "mapsLook": small, "power": small, "wallMaps": small}
	if os.Getenv("QUINTET_PAGE_SMALL") == "" {
		large := newPlant(t, sim.Reference(), today.Add(-10*time.Minute)).answers(calm(t))
		worlds["fabricAtSize"], worlds["powerAtSize"] = large, large
	}
	list := []browsertest.Scenario{}
	for name, world := range worlds {
		list = append(list, browsertest.Scenario{Name: name, URL: newSite(t, world).URL})
	}
	scenarios(t, list...)
}

// node runs one of the scripts of browsertest that need no browser.
func node(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), browsertest.Node(t, here), args...)
	cmd.Env = append(cmd.Environ(), "TZ=Europe/Berlin")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// TestMapsWithoutBrowser runs what the maps are made of.
func TestMapsWithoutBrowser(t *testing.T) {
	node(t, "--test", filepath.Join("browsertest", "mapunits.mjs"))
}

// TestQueriesOfTheMaps: what the page asks of the history can be asked: it
// parses, names metrics and recorded series that there are, and labels that they
// have. The lint is the one of dashboards.
func TestQueriesOfTheMaps(t *testing.T) {
	var questions map[string]string
	if err := json.Unmarshal(node(t, filepath.Join("browsertest", "queries.mjs")), &questions); err != nil {
		t.Fatal(err)
	}
	if len(questions) < 30 {
		t.Fatalf("%d questions", len(questions))
	}
	panels := []any{}
	for i, name := range slices.Sorted(maps.Keys(questions)) {
		panels = append(panels, object{"id": i, "title": name, "type": "timeseries", "datasource": object{"uid": promlint.PrometheusSource}, "targets": []any{object{"expr": questions[name]}},
			"fieldConfig": object{"defaults": object{"unit": "none"}}, "gridPos": object{"x": 0, "y": i, "w": 24, "h": 1}})
	}
	text, err := json.MarshalIndent(object{"uid": "page", "title": "page", "schemaVersion": 1, "panels": panels}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range promlint.Dashboard(promlint.Standard(), promlint.File{Name: "page", Text: text}) {
		if p.Severity == rules.Error { // a doubt is that names are given by a pattern: few match
			t.Errorf("%s", p)
		}
	}
}
