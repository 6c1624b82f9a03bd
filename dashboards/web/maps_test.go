package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	sim "github.com/quintet-dc/quintet/lab/sim/site"
)

// mapped is the live site with a small plant, one switch of which is hot.
func mapped(t *testing.T) api {
	a := newPlant(t, sim.Sized(64), today.Add(-10*time.Minute)).answers(live(t))
	open := moved(a["/api/v1/incidents"].(object)["incidents"].([]any)[0], 0).(object)
	open["root"].(object)["entity"] = "nic:n0005/mlx5_3"
	for i, entity := range []string{"nic:n0005/mlx5_3", "port:p3-leaf01/eth2", "port:p3-spine00/eth2"} {
		open["chain"].([]any)[min(i, len(open["chain"].([]any))-1)].(object)["entity"] = entity
	}
	a["/api/v1/incidents"] = object{"incidents": []any{open}}
	a["/api/v1/paths"] = object{"paths": []string{"/fabric", "/fabric?measure=use", "/fabric?of=switch:p3-leaf01", "/fabric?of=port:p3-leaf01/eth2&measure=marks", "/power", "/power?measure=margin", "/power?of=rack:r001", "/power?of=node:n0005"}}
	return a
}

// TestMaps runs the scenarios of browsertest/maps.mjs. What it measures is told,
// not judged: it depends on the machine.
func TestMaps(t *testing.T) {
	small := mapped(t)
	worlds := map[string]api{"fabric": small, "fabricInTime": small, "fabricWithoutHistory": small, "mapsLook": small, "power": small}
	if os.Getenv("QUINTET_PAGE_SMALL") == "" {
		large := newPlant(t, sim.Reference(), today.Add(-10*time.Minute)).answers(calm(t))
		worlds["fabricAtSize"], worlds["powerAtSize"] = large, large
	}
	list := []object{}
	for name, world := range worlds {
		list = append(list, object{"name": name, "url": newSite(t, world).URL})
	}
	for lines := bufio.NewScanner(bytes.NewReader(browser(t, object{"scenarios": list}))); lines.Scan(); {
		var result struct {
			Name          string
			Errors, Notes []string
		}
		if err := json.Unmarshal(lines.Bytes(), &result); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		t.Run(result.Name, func(t *testing.T) {
			for _, note := range result.Notes {
				t.Log(note)
			}
			for _, e := range result.Errors {
				t.Error(e)
			}
		})
	}
}
