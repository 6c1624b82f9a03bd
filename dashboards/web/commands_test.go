package web_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// named is an entity of each kind as sites name them.
var named = map[telemetry.Kind]string{"node": "h9", "gpu": "h9/3", "nic": "h9/nic0", "port": "leaf1/eth3", "switch": "leaf1", "job": "train", "optic": "leaf1/eth3", "nvlink": "h9/3/1"}

// asked lists, for each signature, what it asks to do about its first root.
func asked(t *testing.T) map[string]object {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]object{}
	for _, s := range set.Signatures {
		root := entityOf(s.Roots[0])
		actions := []any{}
		for _, a := range s.Actions {
			target := map[string]string{"root": root, "node": "node:h9", "job": "job:train"}[a.Target]
			actions = append(actions, object{"kind": a.Kind, "target": target, "text": a.Text})
		}
		out[s.Name] = object{"id": "inc-1", "root": object{"entity": root, "signature": s.Name, "domain": s.Domain.String()}, "actions": actions}
	}
	return out
}

func entityOf(k telemetry.Kind) string {
	name, ok := named[k]
	if !ok {
		name = "r12/2"
	}
	return string(k) + ":" + name
}

// TestEverySignatureLeadsToACommand: whatever the cause, one of the actions has a
// command of the site's tools to copy.
func TestEverySignatureLeadsToACommand(t *testing.T) {
	all := asked(t)
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	node(t, filepath.Join("browsertest", "commandsof.mjs"), string(b))
	if len(all) < 40 {
		t.Errorf("%d signatures", len(all))
	}
}

// TestThreeClicks goes from the overview to the command to run, for an incident of
// each domain.
func TestThreeClicks(t *testing.T) {
	all := asked(t)
	var list []browsertest.Scenario
	for _, signature := range []string{"host-jitter", "gpu-slow", "link-errors", "feed-loss", "coolant-flow-loss"} {
		alive := live(t)
		open := alive["/api/v1/incidents"].(object)["incidents"].([]any)[0].(object)
		in := moved(open, 0).(object)
		maps.Copy(in, object{"root": all[signature]["root"], "actions": all[signature]["actions"]})
		in["root"].(object)["confidence"] = 0.97
		alive["/api/v1/incidents/"+in["id"].(string)] = in
		alive["/api/v1/incidents"] = object{"incidents": []any{in}}
		list = append(list, browsertest.Scenario{Name: "threeClicks", URL: newSite(t, alive).URL})
	}
	scenarios(t, list...)
}
