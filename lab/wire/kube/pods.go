package kube

import (
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// pod is one as the API has it.
type pod struct {
	resource
	node   string
	labels map[string]string
	gpus   int
	phase  string
	ended  telemetry.Time // it began when it was created
	code   int
	why    string // of its end
}

// namespace is where a site's jobs are.
const namespace = "ml"

// agents are the pods that every node has: the exporter's daemons.
func (f *Fleet) agents() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.board.Entities(telemetry.Node) {
		r := made(&f.kinds.pod, "dcgm-exporter-"+n.Name, max(1, f.board.Now()), nil)
		r.namespace = "monitoring"
		f.notify("ADDED", &pod{resource: r, node: n.Name, phase: "Running", labels: map[string]string{"app.kubernetes.io/name": "dcgm-exporter"}})
	}
}

// suffix distinguishes the pods of two attempts.
func suffix(attempt int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for i, n := 0, attempt*7919+104729; i < len(b); i++ {
		b[i] = letters[n%len(letters)]
		n /= 3
	}
	return string(b)
}

// stamp writes an instant as the API does.
func stamp(t telemetry.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339) }

// object is a pod in JSON.
func (p *pod) object() object {
	limits := object{"cpu": "96", "memory": "1Ti"}
	if p.gpus > 0 {
		limits["nvidia.com/gpu"] = strconv.Itoa(p.gpus)
	}
	state := object{"running": object{"startedAt": stamp(p.created)}}
	if p.ended > 0 {
		state = object{"terminated": object{"exitCode": p.code, "reason": p.why, "startedAt": stamp(p.created), "finishedAt": stamp(p.ended)}}
	}
	return p.whole(p.labels, object{
		"spec": object{"nodeName": p.node, "restartPolicy": "Never", "containers": containers(limits)},
		"status": object{"phase": p.phase, "startTime": stamp(p.created), "hostIP": "10.0.0.1",
			"containerStatuses": []any{object{"name": "main", "ready": p.ended == 0, "restartCount": 0, "state": state}}}})
}

// containers are a pod's, which is given something.
func containers(limits object) []any {
	return []any{object{"name": "main", "image": "registry.lab/main:1", "resources": object{"limits": limits, "requests": limits}}}
}
