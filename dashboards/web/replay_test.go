package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// played is a recording that is played: it stands at its 250th second, with one
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
	there, list := played(t), []object{}
	for _, name := range []string{"replayBar", "replayBack", "replayView", "replayLooks"} {
		list = append(list, object{"name": name, "url": newSite(t, there).URL})
	}
	list = append(list, object{"name": "noReplay", "url": newSite(t, calm(t)).URL})
	told := 0
	for lines := bufio.NewScanner(bytes.NewReader(browser(t, object{"scenarios": list}))); lines.Scan(); told++ {
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
	if told != len(list) {
		t.Errorf("%d scenarios told of %d", told, len(list))
	}
}
