package kube

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/jobs"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

var train = telemetry.Entity{Kind: telemetry.Job, Name: "train-a"}

// rig is a board of three nodes of two GPUs; a job is on two of them.
func rig(t *testing.T, c Config) (*board.Board, *Fleet) {
	t.Helper()
	b := board.New()
	take(t, b, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: 1_800_000_000e9}})
	for _, node := range []string{"n1", "n2", "n3"} {
		for g := range 2 {
			gpu := telemetry.Entity{Kind: telemetry.GPU, Name: fmt.Sprintf("%s/%d", node, g)}
			take(t, b, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: telemetry.Entity{Kind: telemetry.Node, Name: node}, To: gpu, Relation: telemetry.Contains}})
			if node != "n3" {
				take(t, b, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: train, To: gpu, Relation: telemetry.Runs}})
			}
		}
	}
	c.Dir = t.TempDir()
	f, err := New(b, c)
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}

func take(t *testing.T, b *board.Board, r *telemetry.Record) {
	t.Helper()
	if err := b.Take(r); err != nil {
		t.Fatal(err)
	}
}

// happens has something happen to the job, a second later.
func happens(t *testing.T, b *board.Board, name telemetry.EventName) {
	t.Helper()
	at := b.Now().Add(1e9)
	take(t, b, &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: train, At: at, Name: name}})
	take(t, b, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}})
}

// TestAJobsLife: the real collector reports where it runs, that it fails, is made
// again and ends, from a list and from a watch.
func TestAJobsLife(t *testing.T) {
	b, f := rig(t, Config{})
	collectorstest.Start(t, f.Run)
	entry := f.Entries()[0]
	entry["interval"] = "1s"
	c, err := jobs.DecodeConfig(collectorstest.Entry(t, entry))
	if err != nil {
		t.Fatal(err)
	}
	col, err := jobs.New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	e := collectorstest.Record(t, col)
	heard := func(want ...string) {
		t.Helper()
		e.Until(strings.Join(want, ", "), func() bool {
			var got []string
			for i := range e.Events {
				got = append(got, fmt.Sprintf("%s %s", e.Events[i].Name, e.Events[i].Text))
			}
			return slices.Equal(got, want)
		})
	}
	e.Until("two places", func() bool {
		var on []string
		for i := range e.Edges {
			on = append(on, fmt.Sprintf("%s %s", e.Edges[i].From, e.Edges[i].To))
		}
		slices.Sort(on)
		return slices.Equal(slices.Compact(on), []string{"job:train-a node:n1", "job:train-a node:n2"})
	})
	happens(t, b, telemetry.EventJobFailed)
	heard("job_failed exit code 1 Error")
	happens(t, b, telemetry.EventJobRestarted)
	heard("job_failed exit code 1 Error", "job_restarted restart 1")
	happens(t, b, telemetry.EventJobEnded)
	heard("job_failed exit code 1 Error", "job_restarted restart 1", "job_ended ")
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if len(e.Dropped) > 0 || e.Err() != nil {
		t.Errorf("dropped %v, %v", e.Dropped, e.Err())
	}
}

// asking returns what asks the API server for a path, with a token.
func asking(t *testing.T, f *Fleet) func(path, token string) (int, string) {
	t.Helper()
	ca, err := os.ReadFile(f.caFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	t.Cleanup(client.CloseIdleConnections)
	return func(path, token string) (int, string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+token)
		a, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, string(text)
	}
}

// TestTheAPI: pages of a list, a namespace, a watch that has forgotten, every kind
// and the group that it is found in, and who is let in.
func TestTheAPI(t *testing.T) {
	b, f := rig(t, Config{Remembers: 2})
	collectorstest.Start(t, f.Run)
	ask := asking(t, f)
	if code, text := ask("/api/v1/pods", "somebody"); code != http.StatusUnauthorized || !strings.Contains(text, `"kind":"Status"`) {
		t.Errorf("a stranger is answered %d %s", code, text)
	}
	var names []string
	from := ""
	for range 5 {
		var page struct {
			Metadata struct{ Continue, ResourceVersion string }
			Items    []struct{ Metadata struct{ Name string } }
		}
		_, text := ask("/api/v1/pods?limit=2&continue="+from, f.token)
		if err := json.Unmarshal([]byte(text), &page); err != nil || page.Metadata.ResourceVersion == "" {
			t.Fatalf("%v: %s", err, text)
		}
		for _, x := range page.Items {
			names = append(names, x.Metadata.Name)
		}
		if from = page.Metadata.Continue; from == "" {
			break
		}
	}
	if len(names) != 5 || !strings.HasPrefix(names[0], "train-a-workers-0-0-") || names[4] != "dcgm-exporter-n3" {
		t.Errorf("pods: %v", names)
	}
	if _, text := ask("/api/v1/namespaces/monitoring/pods", f.token); strings.Count(text, `"kind":"Pod"`) != 3 {
		t.Errorf("a namespace: %s", text)
	}
	happens(t, b, telemetry.EventJobFailed)
	f.advance()
	if _, text := ask("/api/v1/pods?watch=1&resourceVersion=1000&timeoutSeconds=1", f.token); !strings.Contains(text, `"code":410`) {
		t.Errorf("from long ago: %s", text)
	}
	last := fmt.Sprintf("watch=1&resourceVersion=%d&timeoutSeconds=1&allowWatchBookmarks=true", f.version-1)
	if _, text := ask("/apis/batch/v1/jobs?"+last, f.token); strings.Count(text, `"MODIFIED"`) != 1 || !strings.Contains(text, "BackoffLimitExceeded") || !strings.Contains(text, `"BOOKMARK"`) {
		t.Errorf("the last change: %s", text)
	}
	if _, text := ask("/apis/jobset.x-k8s.io/v1alpha2/jobsets?"+last, f.token); strings.Contains(text, `"MODIFIED"`) {
		t.Errorf("a change of another kind: %s", text)
	}
	for path, want := range map[string]string{
		"/apis": `"groupVersion":"kueue.x-k8s.io/v1beta1"`, "/apis/kueue.x-k8s.io": `"preferredVersion"`, "/apis/kueue.x-k8s.io/v1beta1": `"kind":"Workload"`,
		"/apis/batch/v1/namespaces/ml/jobs":                        `"kind":"JobSet","name":"train-a"`,
		"/apis/jobset.x-k8s.io/v1alpha2/jobsets?limit=1":           `"nvidia.com/gpu":"2"`,
		"/apis/kueue.x-k8s.io/v1beta1/workloads":                   `"type":"Admitted"`,
		"/apis/kueue.x-k8s.io/v1beta1/namespaces/nobody/workloads": `"items":[]`,
		"/apis/batch/v1/jobs?watch=1&resourceVersion=1000":         `"code":410`,
	} {
		if code, text := ask(path, f.token); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d, nothing of %s: %s", path, code, want, text)
		}
	}
	for _, path := range []string{"/api/v1/pods?watch=1", "/api/v1/pods?continue=x"} {
		if code, _ := ask(path, f.token); code != http.StatusBadRequest {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, text := ask("/version", f.token); code != http.StatusOK || !strings.Contains(text, "gitVersion") {
		t.Errorf("version: %d %s", code, text)
	}
}
