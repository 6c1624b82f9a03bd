package slurm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// handler answers what slurmrestd does of versions 39 to 44.
func (f *Fleet) handler() http.Handler {
	mux := http.NewServeMux()
	page := func(answer func(w writer) map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			n, err := strconv.Atoi(strings.TrimPrefix(r.PathValue("version"), "v0.0."))
			switch {
			case err != nil || n < 39 || n > 44:
				http.NotFound(w, r)
				return
			case !f.signer.good(r.Header.Get("X-SLURM-USER-TOKEN"), r.Header.Get("X-SLURM-USER-NAME"), time.Now()):
				http.Error(w, "Authentication failure", http.StatusUnauthorized)
				return
			}
			f.mu.Lock()
			doc := answer(writer(n))
			f.mu.Unlock()
			doc["meta"] = map[string]any{"plugin": map[string]any{"type": "openapi/slurmctld", "data_parser": fmt.Sprintf("data_parser/v0.0.%d", n)},
				"slurm": map[string]any{"cluster": "lab", "release": "25.11.0"}}
			doc["errors"], doc["warnings"] = []any{}, []any{}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(doc) // who asked may be gone
		}
	}
	mux.HandleFunc("GET /slurm/{version}/ping", page(func(writer) map[string]any { return map[string]any{"pings": []any{}} }))
	mux.HandleFunc("GET /slurm/{version}/jobs", page(f.listJobs))
	mux.HandleFunc("GET /slurm/{version}/jobs/", page(f.listJobs))
	mux.HandleFunc("GET /slurm/{version}/nodes", page(f.listNodes))
	mux.HandleFunc("GET /slurm/{version}/nodes/", page(f.listNodes))
	return mux
}

// writer writes as a version does.
type writer int

// number is an object since version 40 (in 39 of few fields only).
func (w writer) number(n int64) any {
	if w < 40 {
		return n
	}
	return map[string]any{"set": true, "infinite": false, "number": n}
}

func (w writer) time(t telemetry.Time) any { return w.number(int64(t) / int64(time.Second)) }

// state is a list since version 40.
func (w writer) state(s string) any {
	if w < 40 {
		return s
	}
	return []string{s}
}

func (w writer) exit() any {
	if w < 40 {
		return map[string]any{"status": "SUCCESS", "return_code": 0}
	}
	return map[string]any{"status": []string{"SUCCESS"}, "return_code": w.number(0), "signal": map[string]any{"id": map[string]any{"set": false, "infinite": false, "number": 0}, "name": ""}}
}

func (f *Fleet) listJobs(w writer) map[string]any {
	jobs := []any{}
	for _, x := range f.board.Entities(telemetry.Job) {
		j := f.jobs[x]
		if j == nil {
			continue
		}
		one := map[string]any{"account": "lab", "job_id": j.id, "name": x.Name, "user_name": user, "partition": "gpu", "cluster": "lab",
			"job_state": w.state(j.state), "state_reason": "None", "restart_cnt": j.restarts, "requeue": true, "exit_code": w.exit(),
			"submit_time": w.time(j.start), "start_time": w.time(j.start), "end_time": w.time(j.start.Add(7 * 24 * time.Hour)), "nodes": "", "gres_detail": []string{}}
		switch j.state {
		case "PENDING":
			one["submit_time"], one["start_time"], one["end_time"], one["state_reason"] = w.time(j.queued), w.time(0), w.time(0), "NodeDown"
		case "COMPLETED":
			one["end_time"] = w.time(j.end)
			f.placed(one, x, w)
		default:
			f.placed(one, x, w)
		}
		jobs = append(jobs, one)
	}
	return map[string]any{"jobs": jobs, "last_update": w.time(f.board.Now()), "last_backfill": w.time(0)}
}

// placed states where a job runs.
func (f *Fleet) placed(one map[string]any, x telemetry.Entity, w writer) {
	var nodes []string
	at := map[string][]int{}
	n := 0
	for _, e := range f.board.Edges(telemetry.Runs) {
		if e.From != x || e.End != 0 || e.To.Kind != telemetry.GPU {
			continue
		}
		node := e.To.Prefix()
		index, err := strconv.Atoi(e.To.Name[len(node)+1:])
		if err != nil {
			continue
		}
		if at[node] == nil {
			nodes = append(nodes, node)
		}
		at[node] = append(at[node], index)
		n++
	}
	gres := []string{}
	for _, node := range nodes {
		slices.Sort(at[node])
		gres = append(gres, fmt.Sprintf("gpu:h100:%d(IDX:%s)", len(at[node]), spans(at[node])))
	}
	one["nodes"], one["gres_detail"], one["node_count"], one["tasks"] = compress(nodes), gres, w.number(int64(len(nodes))), w.number(int64(n))
	one["tres_alloc_str"] = fmt.Sprintf("cpu=%d,node=%d,billing=%d,gres/gpu=%d", 12*n, len(nodes), n, n)
}

func (f *Fleet) listNodes(w writer) map[string]any {
	nodes := []any{}
	for _, x := range f.board.Entities(telemetry.Node) {
		one := map[string]any{"name": x.Name, "hostname": x.Name, "address": x.Name, "state": []string{"ALLOCATED"}, "reason": "", "reason_changed_at": w.time(0), "gres": "gpu:h100:8"}
		if h, ok := f.unavailable[x]; ok {
			one["state"], one["reason"], one["reason_changed_at"] = []string{"IDLE", "DRAIN"}, h.reason, w.time(h.since)
		}
		nodes = append(nodes, one)
	}
	return map[string]any{"nodes": nodes, "last_update": w.time(f.board.Now())}
}
