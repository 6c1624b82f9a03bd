package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// today is when the recordings are moved to.
var today = time.Date(2026, 11, 21, 1, 44, 20, 0, time.UTC)

// api is what a site answers, by path.
type api map[string]any

func (a api) incident(in, curves object, revisions []object) {
	path := "/api/v1/incidents/" + in["id"].(string)
	a[path] = in
	a[path+"/curves"] = curves
	a[path+"/revisions"] = object{"revisions": revisions}
	a[path+"/notes"] = object{"acknowledged": nil, "verdict": nil}
	a[path+"/acknowledge"] = object{"acknowledged": object{"by": "night shift", "at": in["updated"]}, "verdict": nil}
	a[path+"/verdict"] = object{"acknowledged": nil, "verdict": object{"verdict": "right", "at": in["updated"]}}
}

func statusOf(tick time.Time, demo string) object {
	return object{"site": "hall-2", "engine": "0.2.0", "rules": "aa2a19d61a52b5ee", "tick": stamp(tick), "position": 48211, "started": stamp(tick.Add(-time.Hour)),
		"replicas": []any{object{"name": "a", "engine": "0.2.0", "rules": "aa2a19d61a52b5ee", "tick": stamp(tick), "position": 48211, "publishing": true, "diverged": false}},
		"alarms":   []any{}, "sources": 41, "silent": 1, "demo": demo, "log": object{"first": 1, "last": 48211, "bytes": 21400000}}
}

func coverage(tick time.Time) object {
	var sources []any
	for i := range 20 {
		sources = append(sources, object{"collector": "sysfs", "target": fmt.Sprintf("h%d", i), "part": "", "series": 46, "latest": stamp(tick), "silent": i == 17, "cadence_seconds": 1, "clock_offset_seconds": 0.002 * float64(i%7)})
	}
	for i := range 6 {
		sources = append(sources, object{"collector": "gnmi", "target": fmt.Sprintf("leaf%d", i), "part": "ports", "series": 1640, "latest": stamp(tick), "silent": false, "cadence_seconds": 1, "clock_offset_seconds": -0.11})
	}
	sources = append(sources, object{"collector": "receive", "target": "jobs", "part": "", "series": 9, "latest": stamp(tick), "silent": false, "cadence_seconds": nil, "clock_offset_seconds": 0})
	return object{"sources": sources}
}

// calm is a site on which nothing is wrong.
func calm(t *testing.T) api {
	r := answered(t, "healthy-2", today.Sub(time.Unix(0, 0)))
	jobs := []any{}
	names := map[string]bool{}
	for _, s := range r.rows {
		if s.metric == "job_step_seconds" && !names[s.entity] {
			names[s.entity] = true
			jobs = append(jobs, r.job(s.entity, r.end, 12))
		}
	}
	return api{"/api/v1/status": statusOf(r.end, ""), "/api/v1/jobs": object{"jobs": jobs}, "/api/v1/incidents": object{"incidents": []any{}}, "/api/v1/coverage": coverage(r.end)}
}

// live is a site with one incident open, from the run with the slow nic, and
// three that are over.
func live(t *testing.T) api {
	shift := today.Sub(time.Unix(0, 0))
	slow := answered(t, "slownic-2", shift)
	at := time.Unix(250, 0).Add(shift)
	a := api{"/api/v1/status": statusOf(at, ""), "/api/v1/coverage": coverage(at)}
	open := slow.asOf(at)
	a.incident(open, slow.curves(open, at), slow.revisions[:len(slow.revisions)-1])
	list := []any{open}
	for i, name := range []string{"ecmp-2", "ctlcompute-3"} {
		r := answered(t, name, shift-time.Duration(i*7+1)*time.Hour)
		in := r.last("resolved")
		a.incident(in, r.curves(in, r.end), r.revisions)
		list = append(list, in)
	}
	coolant, curves := coolantLoss(t, at.Add(-31*time.Hour))
	a.incident(coolant, curves, []object{coolant})
	a["/api/v1/incidents"] = object{"incidents": append(list, coolant)}
	a["/api/v1/entity"] = func(q url.Values) any {
		return object{"entity": q.Get("entity"), "state": "degraded", "role": "cause", "reason": "cause of incident: nic h9/nic0 (slow-receiver)", "confidence": 0.9, "since": nil,
			"incident": open["id"], "coverage": object{"sources": 2, "stale": 0, "series": 20, "latest": nil}, "related": []any{open}}
	}
	hurt := slow.job("job:train", at, 12)
	maps.Copy(hurt, object{"state": "slow", "slowdown": 2.06, "incidents": []any{open["id"]}})
	a["/api/v1/jobs"] = object{"jobs": []any{hurt, slow.job("job:job2375", at, 2)}}
	return a
}

// recording is the same incident as a replay shows it: times begin at zero.
func recording(t *testing.T) api {
	r := answered(t, "slownic-2", 0)
	in := r.last("resolved")
	a := api{"/api/v1/status": statusOf(r.end, "Plays a recording: testdata/roce/slownic-2"), "/api/v1/coverage": coverage(r.end), "/api/v1/incidents": object{"incidents": []any{in}},
		"/api/v1/jobs": object{"jobs": []any{r.job("job:train", r.end, 12)}}}
	a.incident(in, r.curves(in, r.end), r.revisions)
	return a
}

// coolantLoss is an incident across four domains, written by hand after the
// design's example, with curves to it.
func coolantLoss(t *testing.T, began time.Time) (in, curves object) {
	b, err := os.ReadFile(filepath.Join("testdata", "coolant.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	in = moved(doc, began.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))).(object)
	from, to := began.Add(-2*time.Minute), began.Add(10*time.Minute)
	curves = object{"id": in["id"], "from": stamp(from), "to": stamp(to), "tick": stamp(to), "curves": []any{
		made("job:llama-70b.481", "job_step_seconds", "effect", from, to, 11, func(x float64) float64 { return 11.2 + 3.5*ramp(x, 170, 30) }),
		made("loop:r44/a", "coolant_flow_liters_per_minute", "root", from, to, 10, func(x float64) float64 { return 412 - 157*ramp(x, 120, 20) }),
		made("gpu:n1187/3", "gpu_temperature_celsius", "chain", from, to, 1, func(x float64) float64 { return 61 + 26*ramp(x, 125, 40) }),
		made("gpu:n1187/3", "gpu_sm_clock_hertz", "chain", from, to, 1, func(x float64) float64 { return 1.98e9 - 0.8e9*ramp(x, 155, 12) }),
		made("rank:llama-70b.481/1187", "rank_compute_seconds", "chain", from, to, 11, func(x float64) float64 { return 8.9 + 3.3*ramp(x, 165, 25) }),
		made("loop:r44/a", "coolant_return_celsius", "witness", from, to, 10, func(x float64) float64 { return 38 + 9*ramp(x, 122, 60) }),
	}}
	return in, curves
}

func ramp(x, from, over float64) float64 { return min(1, max(0, (x-from)/over)) }

// made is a curve with a little of the unevenness that real ones have.
func made(entity, metric, role string, from, to time.Time, every int, value func(seconds float64) float64) object {
	t, v := []any{}, []any{}
	noise := uint32(2463534242)
	for at := from; !at.After(to); at = at.Add(time.Duration(every) * time.Second) {
		noise ^= noise << 13
		noise ^= noise >> 17
		noise ^= noise << 5
		t = append(t, at.UnixMilli())
		x := at.Sub(from).Seconds()
		if metric == "gpu_sm_clock_hertz" && x > 300 && x < 330 {
			v = append(v, nil)
			continue
		}
		v = append(v, value(x)*(1+0.012*(float64(noise%1000)/1000-0.5)))
	}
	return object{"entity": entity, "metric": metric, "rate": false, "unit": unitOf(metric, false), "role": role, "t": t, "v": v}
}

// hostile is a site whose names are markup.
func hostile(t *testing.T) api {
	evil := `<img/src=x/onerror=window.pwned=1>`
	r := answered(t, "slownic-2", today.Sub(time.Unix(0, 0)))
	in := r.last("resolved")
	var infect func(v any) any
	infect = func(v any) any {
		switch v := v.(type) {
		case object:
			for k, x := range v {
				v[k] = infect(x)
			}
		case []any:
			for i, x := range v {
				v[i] = infect(x)
			}
		case string:
			if _, err := time.Parse(time.RFC3339Nano, v); err != nil {
				return v + evil
			}
		}
		return v
	}
	curves := r.curves(in, r.end)
	id := in["id"].(string)
	in = infect(in).(object)
	in["id"], in["state"] = id, "resolved"
	status := infect(statusOf(r.end, evil)).(object)
	status["alarms"] = []any{object{"name": evil, "since": stamp(r.end), "text": `"><script>window.pwned=1</script>`}}
	a := api{"/api/v1/status": status, "/api/v1/coverage": infect(coverage(r.end)), "/api/v1/incidents": object{"incidents": []any{in}},
		"/api/v1/jobs": object{"jobs": []any{infect(r.job("job:train", r.end, 12))}}}
	a.incident(in, infect(curves).(object), []object{in})
	return a
}

// crowded is a site with many jobs and incidents.
func crowded(t *testing.T, jobCount int) api {
	r := answered(t, "slownic-2", today.Sub(time.Unix(0, 0)))
	jobs, incidents := []any{}, []any{}
	one := r.job("job:train", r.end, 12)
	delete(one, "recent")
	for i := range jobCount {
		j := maps.Clone(one)
		maps.Copy(j, object{"job": fmt.Sprintf("job:run-%04d.%d", i, 7000+i*13), "gpus": 8 * (1 + i*i%257), "step_seconds": 0.5 + float64(i%40)/10})
		jobs = append(jobs, j)
	}
	for i := range 500 {
		in := moved(r.last("resolved"), -time.Duration(i)*17*time.Minute).(object)
		in["id"] = fmt.Sprintf("inc-%016x", i)
		if i < 50 {
			in["state"], in["resolved"] = "open", nil
		}
		incidents = append(incidents, in)
	}
	return api{"/api/v1/status": statusOf(r.end, ""), "/api/v1/coverage": coverage(r.end), "/api/v1/incidents": object{"incidents": incidents}, "/api/v1/jobs": object{"jobs": jobs}}
}

// empty is a site without any data source.
func empty() api {
	status := statusOf(today, "")
	status["sources"], status["silent"], status["health"] = 0, 0, healthOf(nil, nil, telemetry.Domains()...)
	return api{"/api/v1/status": status, "/api/v1/coverage": object{"sources": []any{}}, "/api/v1/incidents": object{"incidents": []any{}}, "/api/v1/jobs": object{"jobs": []any{}}}
}

// diverged is a calm site whose replicas disagree, as a demo.
func diverged(t *testing.T) api {
	a := calm(t)
	status := a["/api/v1/status"].(object)
	status["demo"] = "Plays testdata/roce/healthy-2 through the whole pipeline, moved to now."
	status["alarms"] = []any{object{"name": "replica diverged", "since": stamp(today), "text": "a and b tell revision 3 of inc-35c93ffa2730789b differently"}}
	return a
}
