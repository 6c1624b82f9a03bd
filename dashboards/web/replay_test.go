package web_test

import (
	"testing"
	"time"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
)

// played is a recording that is played: it is at its 250th second, with one
// incident open and another yet to come.
func played(t *testing.T) api {
	r := answered(t, "slownic-2", 0)
	at := time.Unix(250, 0)
	open := r.asOf(at)
	status := statusOf(at, "")
	status["replay"] = true
	mark := func(in object, opened, resolved any) object {
		return object{"id": in["id"], "kind": in["kind"], "severity": in["severity"], "title": in["title"], "root": in["root"].(object)["entity"],
			"signature": in["root"].(object)["signature"], "opened": opened, "resolved": resolved}
	}
	later := moved(open, 0).(object)
	later["id"], later["title"], later["severity"] = "inc-00000000000000aa", "other (4 GPUs) is stalled since 00:05:20: an invented mark.", "critical"
	a := api{"/api/v1/status": status, "/api/v1/coverage": coverage(at), "/api/v1/incidents": object{"incidents": []any{open}},
		"/api/v1/jobs": object{"jobs": []any{r.job("job:train", at, 12)}},
		"/api/v1/replay": object{"recording": "slownic-2.qtrace", "from": stamp(time.Unix(1, 0)), "to": stamp(time.Unix(401, 0)), "at": stamp(at), "speed": 1, "paused": false,
			"seeking": nil, "ended": false, "session": 0, "marks": []any{mark(open, open["opened"], stamp(time.Unix(304, 0))), mark(later, stamp(time.Unix(320, 0)), nil)}}}
	a.incident(open, r.curves(open, at), r.revisions[:len(r.revisions)-1])
	return a
}

// TestReplay runs the scenarios of browsertest/replay.mjs.
func TestReplay(t *testing.T) {
	there := played(t)
	list := []browsertest.Scenario{{Name: "noReplay", URL: newSite(t, calm(t)).URL}}
	for _, name := range []string{"replayBar", "replayBack", "replayView", "replayLooks"} {
		list = append(list, browsertest.Scenario{Name: name, URL: newSite(t, there).URL})
	}
	scenarios(t, list...)
}
