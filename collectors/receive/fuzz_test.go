package receive

import (
	"encoding/json"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// fuzzRequest sends a body: it is taken whole or refused whole, with a reason,
// and what it becomes is what the log takes (keeper checks that).
func fuzzRequest(f *testing.F, path string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	mapper := New(Config{}).cfg.Mapper
	f.Fuzz(func(t *testing.T, body string) {
		p := open(t, Config{Mapper: mapper})
		defer collectorstest.Bounded(t, len(body))()
		status, answer := p.send(path, body)
		emitted := len(p.drain())
		switch {
		case status == 202 && emitted > 0:
			// The same again is harmless.
			if again, _ := p.send(path, body); again != 202 {
				t.Errorf("the same again: %d", again)
			}
		case status >= 400 && status < 500 && emitted == 0:
			var said struct{ Error, Field string }
			if err := json.Unmarshal([]byte(answer), &said); err != nil || said.Error == "" {
				t.Errorf("refused without a reason: %s", answer)
			}
		default:
			t.Errorf("%d %s with %d records", status, answer, emitted)
		}
	})
}

func FuzzSteps(f *testing.F) {
	fuzzRequest(f, "/api/v1/jobs/train/steps",
		`{"rank":0,"steps":[{"step":1201,"end":"2026-11-21T12:00:00Z","seconds":3.31,"count":1,"tokens":4194304,"phase":"train","compute_seconds":1.9,"wait_seconds":0.2}]}`,
		`{"steps":[{"end":"2026-11-21T12:00:01Z","seconds":1,"phase":"eval"},{"end":"2026-11-21T12:00:00Z","seconds":1e9}]}`, `{"rank":null,"steps":[]}`)
}

func FuzzEdges(f *testing.F) {
	fuzzRequest(f, "/api/v1/edges",
		`[{"from":"job:train","to":"node:h0","rel":"runs","start":"2026-11-21T12:00:00Z","end":null,"attrs":{"rank":1}}]`,
		`{"entities":[{"id":"switch:a","attrs":{"tier":"leaf"}}],"edges":[{"from":"nic:a/0","to":"port:b/1","rel":"connects","start_ns":0}]}`)
}

func FuzzEvents(f *testing.F) {
	fuzzRequest(f, "/api/v1/events", `[{"entity":"gpu:n/3","time":"2026-11-21T12:00:00Z","name":"xid","text":"79"}]`, `{"events":[{"entity":"job:a","time_ns":1,"name":"x"}]}`)
}
