package jobs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// apiServer has resources by path, lists them in pages and reports changes.
type apiServer struct {
	mu      sync.Mutex
	pods    []map[string]any
	others  map[string][]map[string]any // /apis/batch/v1/jobs
	denied  string                      // a path that may not be read
	changes []apiChange                 // from version 100 on
	forgets bool
}

type apiChange struct {
	path, kind string
	object     map[string]any
}

func podOf(name, job, node, state string, restarts int, gpus string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "ml", "uid": "uid-" + name, "resourceVersion": "7", "labels": map[string]string{"jobset.sigs.k8s.io/jobset-name": job, "batch.kubernetes.io/job-name": job + "-workers-0"}},
		"spec":     map[string]any{"nodeName": node, "containers": []any{map[string]any{"resources": map[string]any{"limits": map[string]any{"nvidia.com/gpu": gpus, "cpu": 4}}}}},
		"status": map[string]any{"phase": state, "startTime": time.Now().UTC().Truncate(time.Second).Format(time.RFC3339),
			"containerStatuses": []any{map[string]any{"restartCount": restarts, "state": map[string]any{}}}},
	}
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, items := r.URL.Query(), a.pods
	switch r.URL.Path {
	case "/apis":
		groups := []any{map[string]any{"name": "apps", "preferredVersion": map[string]any{"groupVersion": "apps/v1"}}}
		for path := range a.others {
			version := strings.TrimPrefix(path[:strings.LastIndex(path, "/")], "/apis/")
			groups = append(groups, map[string]any{"name": strings.Split(version, "/")[0], "preferredVersion": map[string]any{"groupVersion": version}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "APIGroupList", "groups": groups})
		return
	case podsPath:
	default:
		var there bool
		if items, there = a.others[r.URL.Path]; !there {
			w.WriteHeader(http.StatusNotFound)
			return
		}
	}
	if r.URL.Path == a.denied {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if q.Get("watch") == "" { // two pages
		page := map[string]any{"metadata": map[string]any{"resourceVersion": fmt.Sprint(100 + len(a.changes)), "continue": ""}, "items": items[len(items)/2:]}
		if q.Get("continue") == "" && len(items) > 1 {
			page = map[string]any{"metadata": map[string]any{"resourceVersion": "100", "continue": "more"}, "items": items[:len(items)/2]}
		}
		_ = json.NewEncoder(w).Encode(page)
		return
	}
	if a.forgets && r.URL.Path == podsPath {
		a.forgets = false
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": map[string]any{"kind": "Status", "code": 410}})
		return
	}
	from := 0
	_, _ = fmt.Sscan(q.Get("resourceVersion"), &from)
	for i := max(0, from-100); i < len(a.changes); i++ {
		if c := a.changes[i]; c.path == r.URL.Path {
			c.object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(101 + i)
			_ = json.NewEncoder(w).Encode(map[string]any{"type": c.kind, "object": c.object})
		}
	}
}

const podsPath = "/api/v1/pods"

func (a *apiServer) change(kind string, pod map[string]any) { a.changeOf(podsPath, kind, pod) }

func (a *apiServer) changeOf(path, kind string, x map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes = append(a.changes, apiChange{path, kind, x})
}

// heard starts a collector that reads the cluster and returns its output; jobs are
// named by a pattern.
func (a *apiServer) heard(t *testing.T, job string) ear {
	t.Helper()
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	c, err := New(Config{Type: typeKube, URL: srv.URL, Every: 20 * time.Millisecond, Job: job}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, c)
}

// TestKubernetes: the pods of a JobSet are one job; their changes are reported from
// a watch, and a server that has forgotten is asked for the list again.
func TestKubernetes(t *testing.T) {
	a := &apiServer{pods: []map[string]any{podOf("a-0", "llm", "n1", "Running", 0, "8"), podOf("a-1", "llm", "n2", "Running", 0, "8"), podOf("web", "site", "n1", "Running", 0, "0")}}
	e := a.heard(t, "")
	happened := func(want ...string) { t.Helper(); e.happened(want...) }
	all := []string{"job:ml.llm job_started "}
	happened(all...)
	if got, want := e.runs(), []string{"job:ml.llm > node:n1", "job:ml.llm > node:n2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	a.change("MODIFIED", podOf("a-1", "llm", "n2", "Running", 1, "8"))
	all = append(all, "job:ml.llm job_restarted restart 1")
	happened(all...)
	a.mu.Lock()
	a.forgets, a.pods = true, []map[string]any{podOf("a-0", "llm", "n3", "Running", 1, "8")}
	a.changes = nil
	a.mu.Unlock()
	e.Until("the list again", func() bool { return len(e.Edges) >= 9 })
	if got, want := e.runs(), []string{"job:ml.llm > node:n3"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	over := podOf("a-0", "llm", "n3", "Failed", 1, "8")
	over["status"].(map[string]any)["containerStatuses"] = []any{map[string]any{"restartCount": 1, "state": map[string]any{"terminated": map[string]any{"exitCode": 137, "reason": "OOMKilled"}}}}
	a.change("MODIFIED", over)
	all = append(all, "job:ml.llm job_failed exit code 137 OOMKilled")
	happened(all...)
	if got := e.runs(); len(got) > 0 {
		t.Errorf("still placed: %v", got)
	}
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if len(e.Dropped) > 0 {
		t.Errorf("dropped %v", e.Dropped)
	}
}

// clusterModel answers without a connection.
type clusterModel struct {
	severed, spoilt atomic.Bool
	api             apiServer
}

// RoundTrip implements http.RoundTripper.
func (m *clusterModel) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if m.severed.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return w.Result(), nil
	}
	if m.spoilt.Load() {
		m.api.change("ADDED", map[string]any{"metadata": map[string]any{"name": 7}})
	}
	m.api.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestKubernetesConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		m := &clusterModel{}
		m.api.pods = []map[string]any{podOf("a-0", "llm", "n1", "Running", 0, "8")}
		c, err := New(Config{Type: typeKube, URL: "http://cluster", Every: time.Second, MaxJobs: 20}, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		c.open = func() (source, error) { return newKube(c.cfg, &http.Client{Transport: m}, c.cfg.URL), nil }
		return collectorstest.Subject{Collector: c, Sever: func() { m.severed.Store(true) }, Restore: func() { m.severed.Store(false) },
			Spoil: func() { m.spoilt.Store(true) }, SpoiltAs: collectors.Malformed,
			Swell: func() {
				m.api.mu.Lock()
				defer m.api.mu.Unlock()
				for i := range 100 {
					m.api.pods = append(m.api.pods, podOf(fmt.Sprintf("b-%d", i), fmt.Sprintf("b%d", i), "n1", "Running", 0, "1"))
				}
			}}
	}})
}
